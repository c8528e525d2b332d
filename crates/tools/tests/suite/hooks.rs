//! Command hooks behind the engine: scripts as people write them for Claude Code, and hostile ones.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use robota_core::{
    HookCall, HookDecision, HookEngine, HookEngineOptions, HookExecutors, HookInput, HookOrigin, HookOutcome,
    HookRunner, HookScope, HooksConfig, PermissionMode, SessionSource,
};
use robota_tools::CommandHook;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::session::is_running;

/// A project with one hook, which is the user's.
struct Project {
    folder: TempDir,
    timeout: f64,
    matcher: &'static str,
    env: Value,
    cancel: CancellationToken,
}

impl Project {
    fn new() -> Self {
        let (folder, cancel) = (tempfile::tempdir().unwrap(), CancellationToken::new());
        Self { folder, timeout: 60.0, matcher: "", env: json!({}), cancel }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An executable file of the project.
    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the hook `command` says when `call` happens.
    async fn says(&self, command: &str, call: HookCall) -> HookOutcome {
        let hook = json!({"type": "command", "command": command, "timeout": self.timeout});
        let group = json!([{"matcher": self.matcher, "hooks": [hook], "env": self.env}]);
        let origin = HookOrigin { place: "settings.json".into(), scope: HookScope::User };
        let (config, _) = HooksConfig::from_value(&json!({call.name(): group}), &origin).unwrap();
        let environment = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("CLAUDE_SESSION_ID", "stale")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).to_vec();
        let runner = CommandHook::new("/bin/bash", self.folder.path(), environment);
        let executors = HookExecutors { command: Some(Arc::new(runner)), ..HookExecutors::default() };
        let engine = HookEngine::new(config, executors, HookEngineOptions::default());
        let folder = self.folder.path();
        let mut input = HookInput::new("s1".parse().unwrap(), folder, PermissionMode::Default, call);
        input.transcript_path = Some("/logs/s1.jsonl".into());
        engine.run(&input, &self.cancel).await
    }

    /// The failure of a guard, which must not let the call run.
    async fn fails(&self, command: &str) -> String {
        let outcome = self.says(command, bash("ls")).await;
        assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
        let [failure] = outcome.failures.try_into().unwrap();
        failure
    }
}

fn bash(command: &str) -> HookCall {
    call("Bash", json!({"command": command}))
}

fn call(tool: &str, input: Value) -> HookCall {
    HookCall::PreToolUse { tool_name: tool.into(), tool_input: input, tool_use_id: "t1".into() }
}

fn stop(active: bool) -> HookCall {
    HookCall::Stop {
        response: "done".into(),
        last_assistant_message: "done".into(),
        stop_hook_active: active,
    }
}

/// A pipe whose end tells that the last process of a hook is gone, and the name to open it by.
fn lifeline() -> (PipeReader, PipeWriter, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let name = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
    (reader, writer, name)
}

/// Waits until nobody holds the pipe, and returns what was written to it.
async fn closed(mut reader: PipeReader) -> String {
    let read = move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    };
    tokio::task::spawn_blocking(read).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_guard_with_exit_codes() {
    let project = Project { matcher: "Bash|Write", ..Project::new() };
    project.script(
        "guard.sh",
        r#"#!/bin/bash
set -euo pipefail
INPUT=$(cat)
COMMAND=$(printf '%s' "$INPUT" | sed -n 's/.*"tool_input":{"command":"\([^"]*\)".*/\1/p')
if [[ "$COMMAND" == *"rm -rf"* ]]; then
  echo "BLOCKED: '$COMMAND' would delete files" >&2
  exit 2
fi
exit 0
"#,
    );
    let line = "\"$CLAUDE_PROJECT_DIR\"/guard.sh";
    let expected = HookOutcome::decided(HookDecision::Deny, "BLOCKED: 'rm -rf /' would delete files");
    assert_eq!(project.says(line, bash("rm -rf /")).await, expected);
    assert!(project.says(line, bash("ls")).await.is_empty());
    assert!(project.says(line, call("Read", json!({"command": "rm -rf"}))).await.is_empty());
}

#[tokio::test]
async fn a_guard_with_json() {
    let project = Project::new();
    project.script(
        "rewrite.sh",
        r#"#!/bin/sh
read -r input || exit 1
case "$input" in
*'"hook_event_name":"PreToolUse","tool_name":"Bash"'*) ;;
*) exit 0 ;;
esac
cat <<'END'
{
  "hookSpecificOutput": {
    "hookEventName": "PreToolUse",
    "permissionDecision": "ask",
    "permissionDecisionReason": "npm is pnpm here",
    "updatedInput": {"command": "pnpm test"}
  },
  "systemMessage": "rewrote npm"
}
END
"#,
    );
    let mut expected = HookOutcome::decided(HookDecision::Ask, "npm is pnpm here");
    expected.updated_input = Some(json!({"command": "pnpm test"}));
    expected.system_messages = vec!["rewrote npm".into()];
    assert_eq!(project.says("./rewrite.sh", bash("npm test")).await, expected);
}

#[tokio::test]
async fn stop_hooks_session_starts_and_formatters() {
    let project = Project::new();
    let tests = r#"grep -q '"stop_hook_active":true' && exit 0; echo "Run the tests first." >&2; exit 2"#;
    let expected = HookOutcome::blocked("Run the tests first.");
    assert_eq!(project.says(tests, stop(false)).await, expected);
    assert!(project.says(tests, stop(true)).await.is_empty());

    let start = HookCall::SessionStart { source: SessionSource::Startup };
    let context = r#"echo "Branch: main"; echo "Source: $(sed 's/.*"source":"//; s/".*//')""#;
    assert_eq!(project.says(context, start).await, HookOutcome::context("Branch: main\nSource: startup"));

    let input = json!({"file_path": "/p/a.ts", "content": "x"});
    let written = HookCall::PostToolUse {
        tool_name: "Write".into(),
        tool_input: input,
        tool_response: json!("ok"),
        tool_output: "ok".into(),
        tool_use_id: "t1".into(),
    };
    let format = r#"f=$(grep -o '"file_path":"[^"]*"' | cut -d'"' -f4); echo "$f does not lint" >&2; exit 2"#;
    assert_eq!(project.says(format, written).await, HookOutcome::context("/p/a.ts does not lint"));
}

#[tokio::test]
async fn the_environment_is_the_documented_one() {
    let project =
        Project { env: json!({"EXTRA": "1", "CLAUDE_PROJECT_DIR": "/elsewhere"}), ..Project::new() };
    let names =
        "env -u PWD -u SHLVL -u _ | grep -v '^PATH=' | sed 's/^\\(ROBOTA_CALL=\\).*/\\1/' | sort; pwd";
    let folder = project.folder.path().canonicalize().unwrap().display().to_string();
    let asked = project.says(names, HookCall::UserPromptSubmit { prompt: "p".into() }).await;
    let project_dir = project.folder.path().display();
    let expected =
        format!("CLAUDE_PROJECT_DIR={project_dir}\nCLAUDE_SESSION_ID=s1\nEXTRA=1\nROBOTA_CALL=\n{folder}");
    assert_eq!(asked, HookOutcome::context(expected));

    let agent = HookCall::SubagentStart { agent_id: "a1".into(), agent_type: "Explore".into() };
    let tells = "echo \"$ROBOTA_AGENT_ID $ROBOTA_AGENT_TYPE\" >&2; exit 2";
    assert_eq!(project.says(tells, agent).await.system_messages, ["a1 Explore"]);
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_replaced_by_the_project() {
    let project = Project::new();
    let runner = CommandHook::new("/bin/bash", project.folder.path(), vec![]);
    let executors = HookExecutors { command: Some(Arc::new(runner)), ..HookExecutors::default() };
    let hooks = json!({"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "pwd"}]}]});
    let origin = HookOrigin { place: "settings.json".into(), scope: HookScope::User };
    let (config, _) = HooksConfig::from_value(&hooks, &origin).unwrap();
    let engine = HookEngine::new(config, executors, HookEngineOptions::default());
    let call = HookCall::UserPromptSubmit { prompt: "p".into() };
    let gone = project.path("gone");
    let input = HookInput::new("s1".parse().unwrap(), gone, PermissionMode::Default, call);
    let folder = project.folder.path().canonicalize().unwrap().display().to_string();
    assert_eq!(engine.run(&input, &project.cancel).await, HookOutcome::context(folder));
}

#[tokio::test]
async fn a_hook_that_hangs_ends_at_its_deadline_with_everything_in_its_group() {
    let project = Project { timeout: 1.0, ..Project::new() };
    let (reader, writer, name) = lifeline();
    // One of them heeds TERM, one does not, and one was left behind by its parent.
    let command = format!(
        "exec 9>{name}; (trap '' TERM; while :; do sleep 1; done) & (sleep 1000 &) ; echo up >&9; sleep 1000"
    );
    let failure = project.fails(&command).await;
    assert!(failure.ends_with("(in settings.json) took longer than its timeout of 1 s."), "{failure}");
    drop(writer);
    assert_eq!(closed(reader).await, "up\n");
}

#[tokio::test]
async fn what_a_hook_leaves_behind_is_killed_and_not_waited_for() {
    let project = Project::new();
    let (reader, writer, name) = lifeline();
    let command = format!(
        "exec 9>{name}; sleep 1000 & echo $! >&9; (trap '' TERM HUP; (sleep 1001 & echo $! >&9; sleep 1002) &); \
         echo fine"
    );
    let outcome = project.says(&command, HookCall::UserPromptSubmit { prompt: "p".into() }).await;
    assert_eq!(outcome, HookOutcome::context("fine"));
    drop(writer);
    let left_behind = closed(reader).await;
    assert!(left_behind.lines().count() >= 1 && !left_behind.lines().any(is_running), "{left_behind}");
}

#[tokio::test]
async fn an_answer_that_passes_through_another_process_arrives() {
    let project = Project::new();
    let command = "exec > >(sleep 0.05; cat); echo passed on";
    let outcome = project.says(command, HookCall::UserPromptSubmit { prompt: "p".into() }).await;
    assert_eq!(outcome, HookOutcome::context("passed on"));
}

#[tokio::test]
async fn a_hundred_megabytes_are_neither_kept_nor_waited_for() {
    let project = Project::new();
    let flood = "head -c 100000000 /dev/zero | tr '\\0' x";
    let both = format!("{flood} & {flood} >&2; wait; echo no >&2; exit 2");
    let outcome = project.says(&both, stop(false)).await;
    let reason = outcome.block.unwrap();
    assert!(reason.starts_with("xxx") && reason.len() < 10_100);
    let json = format!("echo '{{'; {flood}");
    let failure = project.fails(&json).await;
    assert!(failure.ends_with("printed 100000002 bytes of JSON; at most 1048576 are read."), "{failure}");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 100_000, "{peak} kB");
}

#[tokio::test]
async fn broken_guards_let_nothing_through() {
    let project = Project::new();
    project.script("plain.sh", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(project.path("plain.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    project.script("suicide.sh", "#!/bin/sh\nrm \"$0\"; kill -9 $$\n");
    let cases = [
        ("echo '{\"continue\": fal'", "printed JSON that cannot be read: "),
        ("kill -9 $$", "was ended by signal 9 (SIGKILL)."),
        ("./suicide.sh; exit $?", "was ended by signal 9 (code 137)"),
        ("./suicide.sh", "was not found (code 127)"),
        ("./plain.sh", "cannot be executed (code 126)"),
        ("no-such-program-at-all", "was not found (code 127)"),
    ];
    for (command, expected) in cases {
        let failure = project.fails(command).await;
        assert!(failure.contains(expected), "{command}: {failure}");
    }
    let outcome = project.says("exit 1", bash("ls")).await;
    assert_eq!((outcome.permission, outcome.failures.len()), (None, 1));
}

#[tokio::test]
async fn a_hook_that_is_removed_while_it_runs_goes_on() {
    let project = Project::new();
    project.script("gone.sh", "#!/bin/sh\nrm -rf \"$CLAUDE_PROJECT_DIR\"\necho gone >&2\nexit 2\n");
    assert_eq!(project.says("./gone.sh", stop(false)).await, HookOutcome::blocked("gone"));
    let failure = project.fails("true").await;
    assert!(failure.contains("could not be run: cannot start /bin/bash: No such file"), "{failure}");
}

#[tokio::test]
async fn a_large_input_need_not_be_read_and_arrives_whole() {
    let project = Project::new();
    let large = "x".repeat(8 * 1024 * 1024);
    assert!(project.says("exit 0", bash(&large)).await.is_empty());
    assert!(project.says("exec <&-; sleep 0.05", bash(&large)).await.is_empty());
    let count = "wc -c >&2; exit 2";
    let outcome = project.says(count, bash(&large)).await;
    let counted: usize = outcome.permission.unwrap().reason.unwrap().parse().unwrap();
    assert!(counted > large.len());
}

#[tokio::test]
async fn cancelling_in_the_middle_leaves_nothing_running() {
    let project = Project::new();
    let (mut reader, writer, name) = lifeline();
    let command = format!("exec 9>{name}; (sleep 1000 &); echo up >&9; sleep 1001");
    let abort = async {
        let started = tokio::task::spawn_blocking(move || {
            let mut first = [0; 3];
            reader.read_exact(&mut first).map(|()| reader)
        });
        let reader = started.await.unwrap().unwrap();
        drop(writer);
        project.cancel.cancel();
        closed(reader).await
    };
    let (outcome, rest) = tokio::join!(project.says(&command, bash("ls")), abort);
    assert_eq!(outcome.permission.unwrap().decision, HookDecision::Deny);
    assert_eq!((outcome.failures, rest), (vec![], String::new()));
}
