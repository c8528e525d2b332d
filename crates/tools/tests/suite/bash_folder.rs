//! Where the commands of a session run.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_tools::ToolOptions;
use robota_tools::process::{CommandLine, Confine, ConfineError, Confined};
use serde_json::{Value, json};

use crate::session::Session;

fn shells() -> [PathBuf; 2] {
    ["/bin/bash", "/bin/sh"].map(PathBuf::from)
}

fn session(shell: PathBuf) -> (Session, String) {
    let session = Session::with(|options| options.shell = shell);
    fs::create_dir_all(session.path("sub/deep")).unwrap();
    fs::create_dir(session.path("it's a $(folder)")).unwrap();
    std::os::unix::fs::symlink("/etc", session.path("out")).unwrap();
    let root = session.path("").canonicalize().unwrap().to_str().unwrap().to_owned();
    (session, root)
}

async fn bash(session: &Session, command: &str) -> (String, Value) {
    let outcome = session.call("Bash", json!({"command": command})).await;
    (outcome.content, outcome.structured.unwrap())
}

#[tokio::test]
async fn the_folder_of_the_shell_stays_however_it_ends() {
    for shell in shells() {
        for (command, code) in [
            ("cd sub", 0),
            ("cd sub; exit 3", 3),
            ("cd sub && (cd deep; exit 4)", 4),
            ("set -e; cd sub; false; echo no", 1),
            ("set -u -C -x; umask 777; cd sub; : $PWD", 0),
            ("cd sub\nif", 2),
            ("cd sub; $(cd deep)", 0),
            ("cd sub; cd deep & wait", 0),
            ("f() { cd sub; }; f", 0),
            ("cd sub; pwd() { echo /; }; alias pwd=false", 0),
            ("cd sub; nosuchcommand", 127),
            ("cd sub; exec 3>&1 2>&-; false", 1),
        ] {
            let (session, root) = session(shell.clone());
            let (text, facts) = bash(&session, command).await;
            assert_eq!(facts["exitCode"], code, "{command}: {text}");
            assert_eq!(facts["cwd"], format!("{root}/sub"), "{command}");
            assert_eq!(bash(&session, "echo $PWD; /bin/pwd").await.0, format!("{root}/sub\n{root}/sub"));
            let (_, facts) = bash(&session, "cd ..").await;
            assert_eq!(facts["cwd"], root);
        }
    }
}

#[tokio::test]
async fn what_does_not_end_the_shell_in_another_folder_does_not_move_the_session() {
    for shell in shells() {
        let (session, root) = session(shell);
        session.put("x.sh", "cd sub");
        for command in [
            "(cd sub)",
            "cd sub | cat",
            "cd nowhere",
            "cd sub; if",
            "cd sub; exec true",
            "sh x.sh",
            "echo $(cd sub)",
        ] {
            assert_eq!(bash(&session, command).await.1["cwd"], root, "{command}");
        }
        assert_eq!(bash(&session, ". ./x.sh").await.1["cwd"], format!("{root}/sub"));
        let there =
            session.ok("Bash", json!({"command": "cd deep; pwd", "workingDirectory": format!("{root}/sub")}));
        assert_eq!(there.await, format!("{root}/sub/deep"));
        assert_eq!(bash(&session, "pwd").await.0, format!("{root}/sub"));
        assert_eq!(
            bash(&session, "cd \"../it's a \\$(folder)\"").await.1["cwd"],
            format!("{root}/it's a $(folder)")
        );
    }
}

#[tokio::test]
async fn a_folder_outside_the_workspace_is_left_again_and_said() {
    for shell in shells() {
        let (session, root) = session(shell);
        for command in ["cd /etc", "cd out", "cd sub; cd /etc; false"] {
            let (text, facts) = bash(&session, command).await;
            let note = format!("[/etc is no folder of the workspace; the next command runs in {root} again]");
            assert!(text.contains(&note), "{text}");
            assert_eq!(facts["cwd"], root);
        }
    }
}

#[tokio::test]
async fn a_command_that_had_to_be_ended_leaves_the_session_where_it_was() {
    let (session, root) = session("/bin/sh".into());
    let command = json!({"command": "cd sub; echo partly >&2; sleep 1000", "timeout": 300});
    let outcome = session.call("Bash", command).await;
    // A shell that outlives its child for a moment says that it was terminated.
    let text = outcome.content.replace("Terminated\n", "");
    assert!(text.starts_with("partly\n[timed out after 300 ms"), "{text}");
    assert_eq!(outcome.structured.unwrap()["cwd"], format!("{root}/sub"));
}

#[tokio::test]
async fn nothing_shows_of_how_the_folder_is_told() {
    for shell in shells() {
        let (session, _) = session(shell.clone());
        let told = |outcome: (String, Value)| outcome.0;
        let plain = |command: &str| {
            let run = std::process::Command::new(&shell).arg("-c").arg(command).output().unwrap();
            let text = [run.stdout, run.stderr].concat();
            String::from_utf8(text).unwrap().trim_end().to_owned()
        };
        for command in [
            "if; then",
            "echo \"$0|$#|$@|$?|$-|$LINENO|$BASH_EXECUTION_STRING|$BASH_ENV\"",
            "nosuch; nosuch2\nnosuch3",
            "set -x; cd /",
            "echo a\n# no end",
        ] {
            let mut text = told(bash(&session, command).await);
            text.truncate(text.find("\n[").unwrap_or(text.len()));
            assert_eq!(text, plain(command), "{}: {command}", shell.display());
        }
    }
}

#[tokio::test]
async fn a_session_whose_folder_is_gone_goes_on_in_its_root() {
    let (session, root) = session("/bin/sh".into());
    assert_eq!(bash(&session, "cd sub").await.1["cwd"], format!("{root}/sub"));
    fs::remove_dir_all(session.path("sub")).unwrap();
    let (code, text) = session.refused("Bash", json!({"command": "rm -rf *"})).await;
    assert_eq!(code, "not_found");
    assert!(text.ends_with(&format!("the next command runs in {root}")), "{text}");
    assert_eq!(bash(&session, "pwd").await.0, root);
}

#[tokio::test]
async fn a_call_runs_where_it_was_judged() {
    let (session, root) = session("/bin/sh".into());
    let arguments = json!({"command": "pwd"}).to_string();
    let call = session.tool("Bash").prepare(&arguments).unwrap();
    bash(&session, "cd sub").await;
    let context = robota_core::ToolContext::new("c", session.cancel.clone());
    assert_eq!(call.run(context).await.unwrap().content, root);
}

/// Runs everything as it is, as confined commands are.
#[derive(Debug)]
struct AsIfConfined;

impl Confine for AsIfConfined {
    fn confine(&self, command: CommandLine) -> Result<Confined, ConfineError> {
        Ok(Confined::plain(command))
    }
}

fn session_with_temp(adjust: impl FnOnce(&mut ToolOptions)) -> (Session, tempfile::TempDir) {
    let temp = tempfile::tempdir().unwrap();
    let session = Session::with(|options| {
        options.shell = "/bin/bash".into();
        options.environment.push(("TMPDIR".into(), temp.path().into()));
        adjust(options);
    });
    (session, temp)
}

#[tokio::test]
async fn what_a_command_puts_in_the_place_of_the_file_is_not_looked_at() {
    let (session, _temp) = session_with_temp(|options| options.confinement = Some(Arc::new(AsIfConfined)));
    let script = "f=$(ls $TMPDIR/robota-cwd-*) && trap - EXIT && rm $f && mkfifo $f";
    let called = tokio::time::timeout(Duration::from_secs(20), bash(&session, script));
    let (text, facts) = called.await.expect("the pipe is opened");
    assert_eq!((text.as_str(), &facts["exitCode"]), ("(no output)", &json!(0)));
}

#[tokio::test]
async fn an_unconfined_shell_obeys_no_file_that_confined_commands_can_change() {
    if cfg!(not(target_os = "linux")) {
        println!("skipped: nothing is confined here");
        return;
    }
    for shell in shells() {
        let (session, temp) = session_with_temp(|options| options.shell = shell);
        fs::create_dir(session.path("sub")).unwrap();
        let (text, facts) = bash(&session, "cd sub; ls -A $TMPDIR").await;
        assert_eq!(text, "(no output)");
        let root = session.path("").canonicalize().unwrap();
        assert_eq!(facts["cwd"], root.join("sub").to_str().unwrap());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_in_the_end_changes_no_exit_code() {
    let session = Session::new();
    let command = "set -eE; trap 'echo failed' ERR; mkdir gone; cd gone; rmdir ../gone; echo \"done\"";
    assert_eq!(bash(&session, command).await.0, "done");
}
