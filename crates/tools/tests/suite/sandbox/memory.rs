//! A sandbox in memory alone.

use std::path::Path;
use std::sync::Arc;

use robota_tools::sandbox::{MemorySandbox, Sandbox, SandboxRunOptions, SandboxRunResult};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_handler_runs_commands_over_the_files() {
    let sandbox = MemorySandbox::new().with_run_handler(Arc::new(|command, options, files| {
        let folder = options.working_directory.clone().unwrap_or_default();
        match command.split_once(' ') {
            Some(("upper", name)) => {
                let content = files.read(folder.join(name)).unwrap().to_ascii_uppercase();
                files.write("out/result", content).unwrap();
                SandboxRunResult::exited(0).with_stdout("done").with_stderr("!")
            }
            _ => SandboxRunResult::exited(127),
        }
    }));
    assert_eq!(sandbox.root(), Path::new("/workspace"));
    sandbox.write_file(Path::new("in/a"), b"text".to_vec()).await.unwrap();
    let cancel = CancellationToken::new();
    let mut options = SandboxRunOptions::default();
    options.working_directory = Some("in".into());
    options.merge_output = true;
    let result = sandbox.run("upper a", options.clone(), None, &cancel).await.unwrap();
    assert_eq!(result, SandboxRunResult::exited(0).with_stdout("done!"));
    assert_eq!(sandbox.read_file(Path::new("/workspace/out/result")).await.unwrap(), b"TEXT");
    assert_eq!(sandbox.run("other", options, None, &cancel).await.unwrap().exit_code(), Some(127));
    assert_eq!(sandbox.snapshots().unwrap().snapshot(&cancel).await.unwrap(), "snapshot-1");
}
