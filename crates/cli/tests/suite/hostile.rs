//! What a model, a server or a file system may say to harm the person in front of the terminal.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::context::{Context, Run};

#[test]
fn the_suggested_flag_can_be_pasted_into_a_shell() {
    let command = "echo 'a; touch PWN; b'";
    let call = || Reply::new().tool_call("c1", "Bash", json!({"command": command}));
    let context = Context::new(Script::new().reply(call()).reply("no").reply(call()).reply("yes"));
    let run = context.run(&["-p", "x"]);
    let flag = run.stderr.lines().find_map(|line| line.trim().strip_prefix("allow it with: ")).unwrap();

    Run::of(context.shell(&format!("robota -p x {flag}")).output().unwrap()).assert_success();
    assert!(!context.space.exists("project/PWN"));
    let told = context.server.requests()[3].new_tool_results()[0].content.clone();
    assert!(told.contains("a; touch PWN; b"), "the pasted rule covers the call: {told}");
}

#[test]
fn no_flag_is_suggested_that_hides_what_it_says() {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": "echo \u{202e}gpj.exe"}));
    let context = Context::new(Script::new().reply(call).reply("no"));
    let run = context.run(&["-p", "x", "--verbose"]);
    assert!(run.stderr.contains("not allowed: Bash echo"), "{}", run.stderr);
    assert!(!run.stderr.contains("allow it with") && !run.stderr.contains('\u{202e}'), "{}", run.stderr);
}

#[test]
fn errors_of_a_server_do_not_drive_the_terminal() {
    let context = Context::new(Script::new().reply(Reply::error(400, "boom \x1b[31mred\x07")));
    let run = context.run(&["-p", "x"]);
    assert!(run.stderr.contains("boom") && !run.stderr.contains('\x1b'), "{:?}", run.stderr);
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let context = Context::new(Script::new().reply("an answer").reply("an answer"));
    for arguments in ["-p x", "-p x --output-format json", "completions bash", "man"] {
        let mut shell = context.shell(&format!("robota {arguments} > /dev/full"));
        let run = Run::of(shell.output().unwrap());
        assert_eq!(run.code, Some(4), "{arguments}: {}", run.stderr);
    }
}

#[test]
fn a_folder_whose_name_is_not_text_is_a_project_like_any_other() {
    let context = Context::new(Script::new().reply("one").reply("two"));
    let folder = context.space.path("project").join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&folder).unwrap();
    for (flags, answer) in [(&["-p", "x", "-n", "a"][..], "one"), (&["-p", "x", "-c"][..], "two")] {
        let arguments = [flags, &["--output-format", "stream-json"]].concat();
        let mut command = context.robota(&arguments);
        let run = Run::of(command.current_dir(&folder).output().unwrap());
        let frames = run.assert_success().frames();
        assert_eq!(frames.last().unwrap()["result"], answer);
        assert!(frames[0]["cwd"].as_str().unwrap().ends_with("caf\u{fffd}"), "{}", frames[0]["cwd"]);
    }
}

#[test]
fn an_answer_without_a_word_is_remarked_upon() {
    let context = Context::new(Script::new().reply(Reply::new()));
    let run = context.run(&["-p", "x"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(run.stderr, "note: the model ended its turn without saying anything\n");
}

#[test]
fn a_session_resumed_elsewhere_says_where_it_works() {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": "pwd"}));
    let script = Script::new().reply("one").reply(call).reply("two");
    let context = Context::new(script);
    context.space.write("project/.git/HEAD", "ref: refs/heads/main\n");
    context.space.write("project/sub/file", "");
    context.run(&["-p", "x", "-n", "top"]).assert_success();
    let flags = ["-p", "y", "-r", "top", "--output-format", "stream-json", "--allowed-tools", "Bash(pwd)"];
    let mut command = context.robota(&flags);
    let run = Run::of(command.current_dir(context.space.path("project/sub")).output().unwrap());
    let told = run.frames()[0]["cwd"].as_str().unwrap().to_owned();
    let requests = context.server.requests();
    assert_eq!(requests.last().unwrap().new_tool_results()[0].content.trim(), told, "{}", run.stderr);
    context.server.assert_clean();
}

#[test]
fn a_file_that_may_not_grow_is_a_failed_write_and_no_death() {
    let context = Context::new(Script::new().reply("an answer"));
    for arguments in ["-p x", "man > manual", "completions bash > completions"] {
        // In blocks of 512 or 1,024 bytes.
        let run = Run::of(context.shell(&format!("ulimit -f 1; robota {arguments}")).output().unwrap());
        run.assert_failure(4, &["File too large"]);
    }
}

#[test]
fn what_a_tool_runs_is_ended_by_its_limits_as_ever() {
    let command = "ulimit -f 1; head -c 5000 /dev/zero > big; echo $?";
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": command}));
    let context = Context::new(Script::new().reply(call).reply("Done."));
    context.run(&["-p", "x", "--permission-mode", "bypassPermissions"]).assert_success();
    let told = context.server.requests()[1].new_tool_results()[0].content.clone();
    assert!(told.contains("153"), "ended by SIGXFSZ (128 + 25): {told}");
}
