//! A folder with tools over it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::{Access, DynTool, ToolContext, ToolOutcome};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Session {
    folder: TempDir,
    tools: Vec<Arc<dyn DynTool>>,
    pub(crate) cancel: CancellationToken,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(adjust: impl FnOnce(&mut ToolOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = OsString::from("/usr/local/bin:/usr/bin:/bin");
        let workspace = Workspace::new(folder.path(), [], None);
        let mut options = ToolOptions::new(workspace, vec![("PATH".into(), path)]);
        adjust(&mut options);
        Self { folder, tools: builtin_tools(options), cancel: CancellationToken::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn DynTool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn access(&self, name: &str, arguments: &Value) -> Vec<Access> {
        self.tool(name).prepare(&arguments.to_string()).unwrap().access().to_vec()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.call_in(name, &arguments, ToolContext::new("call", self.cancel.clone())).await
    }

    pub(crate) async fn call_in(&self, name: &str, arguments: &Value, context: ToolContext) -> ToolOutcome {
        let call = self.tool(name).prepare(&arguments.to_string()).unwrap();
        call.run(context).await.unwrap()
    }

    /// The text of a call that succeeds.
    pub(crate) async fn ok(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.is_error, "{name} failed: {}", outcome.content);
        outcome.content
    }

    /// Code and text of a call that fails.
    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> (&'static str, String) {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.is_error, "{name} succeeded: {}", outcome.content);
        (outcome.error_code.unwrap(), outcome.content)
    }
}

/// Whether the process still runs; one that has ended but was not collected does not.
pub(crate) fn is_running(process: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(process.trim()).join("stat"));
    status.is_ok_and(|status| !status.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}
