//! The program of `docs/embedding.md` whose tools work in a sandbox.

// docs: sandboxed
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{PermissionMode, Provider};
use robota_session::{Session, SessionOptions};
use robota_tools::sandbox::{
    Sandbox, SandboxToolOptions, WorkspaceManifest, apply_workspace_manifest, sandboxed_tools,
};
use robota_tools::{Answer, Asked, Question, QuestionAsker};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Takes what the model proposes first; a real host asks a person here.
struct FirstOption;

impl QuestionAsker for FirstOption {
    fn ask<'a>(&'a self, questions: &'a [Question], _: &'a CancellationToken) -> BoxFuture<'a, Asked> {
        let first = |question: &Question| Answer::choosing(question.options.first().map(|it| &it.label));
        let answers = questions.iter().map(first).collect();
        Box::pin(async { Asked::Answered(answers) })
    }
}

/// Runs one prompt in `sandbox`, which is fresh, and keeps what came of it; `sources` is a folder of this machine.
async fn count(
    provider: Arc<dyn Provider>,
    sandbox: Arc<dyn Sandbox>,
    sources: &Path,
) -> Result<(String, Option<String>), Box<dyn Error>> {
    let manifest: WorkspaceManifest = serde_json::from_value(json!({
        "entries": {
            "notes.txt": {"type": "localFile", "src": "notes.txt"},
            "out": {"type": "dir"},
        },
        "environment": {"LC_ALL": "C"},
        "permissions": {"write": ["out"]},
    }))?;
    let cancel = CancellationToken::new();
    let sandbox = apply_workspace_manifest(&sandbox, &manifest, sources, &cancel).await?.sandbox;

    let mut tools = SandboxToolOptions::default();
    tools.asker = Some(Arc::new(FirstOption));
    let mut options = SessionOptions::new(provider, "claude-sonnet-4-5", sandbox.root());
    options.tools = sandboxed_tools(Arc::clone(&sandbox), tools);
    options.permissions.mode = PermissionMode::BypassPermissions; // the sandbox is the boundary
    let session = Session::create(options).await?;
    let outcome = session.run("Write to out/count how many words notes.txt has.").await;
    session.shutdown("other").await?;

    let kept = match sandbox.snapshots() {
        Some(snapshots) => Some(snapshots.snapshot(&cancel).await?),
        None => None, // this kind of sandbox cannot be kept
    };
    Ok((outcome?.text, kept))
}
// docs: end

#[tokio::test]
async fn the_session_works_in_its_sandbox_and_nowhere_else() {
    use robota_testkit::{Reply, Script, ScriptedProvider, TempWorkspace};
    use robota_tools::sandbox::MemorySandbox;

    let write = |id, path| Reply::new().tool_call(id, "Write", json!({"filePath": path, "content": "3\n"}));
    let read = Reply::new().tool_call("c1", "Read", json!({"filePath": "notes.txt"}));
    let option = |label| json!({"label": label, "description": ""});
    let question =
        json!({"question": "Words?", "header": "", "options": [option("Words"), option("Letters")]});
    let asked = Reply::new().tool_call("c2", "AskUserQuestion", json!({"questions": [question]}));
    let script = Script::new().reply(read).reply(asked).reply(write("c3", "elsewhere"));
    let script = script.reply(write("c4", "out/count")).reply("It has 3.");
    let provider = Arc::new(ScriptedProvider::new(script));
    let sources = TempWorkspace::new().file("notes.txt", "buy more bolts\n");
    let sandbox = MemorySandbox::new();
    let came = count(provider.clone(), Arc::new(sandbox.clone()), sources.root()).await.unwrap();
    assert_eq!(came, ("It has 3.".to_owned(), Some("snapshot-1".to_owned())));

    let requests = provider.requests();
    let results: Vec<&str> =
        requests.iter().skip(1).map(|request| request.messages.last().unwrap().text()).collect();
    assert_eq!(results[0], "1\tbuy more bolts");
    assert_eq!(results[1], "The user answered:\n- Words?\n  Words");
    assert!(results[2].contains("elsewhere"), "{}", results[2]);
    assert_eq!(sandbox.read_file(Path::new("out/count")).await.unwrap(), b"3\n");
    assert!(sandbox.read_file(Path::new("elsewhere")).await.is_err());
    assert_eq!(sources.snapshot().len(), 1);
    provider.assert_clean();
}
