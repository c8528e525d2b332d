//! What goes wrong says what happened and what to do, and writes nothing by halves.

use std::fs;
use std::net::TcpListener;

use robota_testkit::{FakeModelServer, Reply, Script};

use crate::context::{Context, Run};

fn nothing() -> Context {
    Context::new(Script::new())
}

fn assert_no_state(context: &Context) {
    assert!(!context.space.exists("project/.robota"), "nothing may be written before a session begins");
    assert_eq!(context.server.requests().len(), 0);
}

#[test]
fn without_a_key_the_ways_to_get_one_are_listed() {
    let context = nothing();
    let run = Run::of(context.bare(&["-p", "x"]).output().unwrap());
    run.assert_failure(
        3,
        &["no model provider is set up", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "robota demo"],
    );
    assert_no_state(&context);
}

#[test]
fn a_wrong_key_is_told_apart_from_a_wrong_model() {
    let context = Context::new(
        Script::new()
            .reply(Reply::error(401, "invalid x-api-key"))
            .reply(Reply::error(404, "model: claude-nope")),
    );
    context.run(&["-p", "x"]).assert_failure(3, &["invalid x-api-key", "ANTHROPIC_API_KEY"]);
    context
        .run(&["-p", "x", "--model", "claude-nope"])
        .assert_failure(1, &["claude-nope", "check the name of the model"]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let context = nothing();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = context.robota(&["-p", "x"]);
    command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}")).env("ROBOTA_MAX_RETRIES", "0");
    let run = Run::of(command.output().unwrap());
    run.assert_failure(1, &[&format!("127.0.0.1:{port}")]);
}

#[test]
fn a_profile_at_fault_is_named_rather_than_a_variable() {
    let page = || Reply::body(200, "text/html", "<html>Welcome</html>");
    let context = Context::new(Script::new().reply(page()).reply(Reply::error(401, "no such key")));
    let settings = |base_url: &str| {
        let profile =
            serde_json::json!({"type": "openai", "model": "m", "apiKey": "k-k-k-k-k", "baseURL": base_url});
        let settings = serde_json::json!({"currentProvider": "gateway", "providers": {"gateway": profile}});
        context.space.write("home/.robota/settings.json", settings.to_string());
    };
    let fails = |code: i32, hint: &str| {
        let run = Run::of(context.bare(&["-p", "x"]).output().unwrap());
        run.assert_failure(code, &[&format!("`providers.gateway.{hint}` in the settings")]);
        assert!(!run.stderr.contains("OPENAI_"), "{}", run.stderr);
    };
    settings("http://");
    fails(3, "baseURL");
    settings(&context.server.base_url());
    fails(1, "baseURL");
    fails(3, "apiKey");
}

#[test]
fn a_provider_that_sends_a_web_page_is_recognised() {
    let page = Reply::body(200, "text/html", "<html><h1>Welcome to the gateway</h1></html>");
    let context = Context::new(Script::new().reply(page));
    context
        .run(&["-p", "x"])
        .assert_failure(1, &["text/html", "Welcome to the gateway", "ANTHROPIC_BASE_URL"]);
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    let context = nothing();
    context.run(&["-p", "x", "--frobnicate"]).assert_failure(2, &["--frobnicate", "--help"]);
    context.run(&[]).assert_failure(2, &["robota -p", "robota demo"]);
    assert_no_state(&context);
}

#[test]
fn unreadable_settings_stop_the_start_at_line_and_column() {
    let context = nothing();
    context
        .space
        .write("home/.robota/settings.json", "{\n  \"permissions\": {\"deny\": [\"Bash(rm *\"]}\n}\n");
    context.run(&["-p", "x"]).assert_failure(3, &["settings.json:2:28", "Bash(rm *"]);
    context.space.write("home/.robota/settings.json", "{ \"permissions\": }");
    context.run(&["-p", "x"]).assert_failure(3, &["settings.json:1:18", "not valid JSON"]);
    assert_no_state(&context);
}

#[test]
fn an_empty_prompt_is_refused() {
    let context = nothing();
    let run = Run::of(context.robota(&["-p"]).write_stdin("").output().unwrap());
    run.assert_failure(2, &["there is no prompt"]);
    assert_no_state(&context);
}

#[test]
fn a_prompt_of_twenty_megabytes_is_refused() {
    let context = nothing();
    let run = Run::of(context.robota(&["-p"]).write_stdin("x".repeat(20_000_000)).output().unwrap());
    run.assert_failure(2, &["the limit is 10 MB", "Put the text into a file"]);
    assert_no_state(&context);
}

#[test]
fn standard_input_that_is_not_text_is_located() {
    let context = nothing();
    let run = Run::of(context.robota(&["-p"]).write_stdin(b"abc\xfe\xff".to_vec()).output().unwrap());
    run.assert_failure(2, &["not UTF-8", "byte 0xfe at offset 3", "iconv"]);
    assert_no_state(&context);
}

#[test]
fn a_working_directory_that_vanished_is_an_error() {
    let context = nothing();
    let gone = context.space.path("project/gone");
    fs::create_dir(&gone).unwrap();
    let mut shell = context.shell("rmdir ../gone; exec robota -p x");
    Run::of(shell.current_dir(&gone).output().unwrap())
        .assert_failure(2, &["the working directory", "Change to a folder that exists"]);
}

#[test]
fn a_project_that_cannot_hold_the_log_is_an_error_before_the_model_is_called() {
    let context = nothing();
    // A file in the place of the folder stands for every reason a folder cannot be made; the tests may run as root.
    context.space.write("project/.robota", "in the way");
    let run = context.run(&["-p", "x"]);
    run.assert_failure(4, &[".robota", "--no-session-persistence"]);
    assert_eq!(context.server.requests().len(), 0);
    assert_eq!(context.space.read("project/.robota"), "in the way");
}

#[test]
fn a_read_only_folder_is_an_error_before_the_model_is_called() {
    let context = nothing();
    // Nobody may make a folder in /proc, not even root.
    let mut command = context.robota(&["-p", "x"]);
    let run = Run::of(command.current_dir("/proc").env("HOME", "/proc").output().unwrap());
    run.assert_failure(4, &["/proc/.robota", "--no-session-persistence"]);
    assert_eq!(context.server.requests().len(), 0);
}

#[test]
fn a_read_only_home_is_no_obstacle() {
    let context = Context::new("fine");
    let mut command = context.robota(&["-p", "x"]);
    command.env("HOME", "/proc");
    assert_eq!(Run::of(command.output().unwrap()).assert_success().stdout, "fine\n");
}

#[test]
fn a_bad_rule_on_the_command_line_is_a_usage_error() {
    let context = nothing();
    context
        .run(&["-p", "x", "--allowed-tools", "Bash(git"])
        .assert_failure(2, &["Bash(git", "Tool(pattern)"]);
    context.run(&["-p", "x", "--add-dir", "/does/not/exist"]).assert_failure(2, &["/does/not/exist"]);
    assert_no_state(&context);
}

#[test]
fn a_projects_own_settings_only_narrow_until_it_is_trusted() {
    let call = || Reply::new().tool_call("c1", "Bash", serde_json::json!({"command": "touch made"}));
    let context = Context::new(Script::new().reply(call()).reply("no").reply(call()).reply("yes"));
    context.space.write(
        "project/.robota/settings.json",
        r#"{"permissions": {"allow": ["Bash(touch *)"], "deny": ["Read(secret)"]}}"#,
    );
    let run = context.run(&["-p", "x"]);
    assert!(run.stderr.contains("not trusted") && run.stderr.contains("--trust"), "{}", run.stderr);
    assert!(!context.space.exists("project/made"));
    let run = context.run(&["-p", "x", "--trust"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(context.space.exists("project/made"));
}

#[test]
fn an_address_without_a_server_name_is_refused() {
    let context = nothing();
    let server = FakeModelServer::start_blocking(Script::new()).unwrap();
    let mut command = context.bare(&["-p", "x"]);
    command.env("ANTHROPIC_API_KEY", "k-k-k-k-k").env("ANTHROPIC_BASE_URL", "not an address");
    Run::of(command.output().unwrap()).assert_failure(3, &["ANTHROPIC_BASE_URL", "not an address"]);
    assert_eq!(server.requests().len(), 0);
}
