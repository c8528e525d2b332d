//! `robota -p` for people.

use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::context::{Context, Run, last_prompt};

#[test]
fn the_answer_is_all_there_is_on_standard_output() {
    let context = Context::new(Script::new().reply(Reply::new().text(["Hel", "lo."])));
    let run = context.run(&["-p", "say", "hello"]);
    assert_eq!(run.assert_success().stdout, "Hello.\n");
    assert_eq!(last_prompt(&context.server.requests()[0]), "say hello");
    context.server.assert_clean();
}

#[test]
fn what_is_piped_in_joins_the_prompt() {
    let context = Context::new(Script::new().reply("one").reply("two"));
    let mut command = context.robota(&["-p", "explain"]);
    assert_eq!(Run::of(command.write_stdin("fn main() {}\n").output().unwrap()).stdout, "one\n");
    let mut command = context.robota(&["-p"]);
    Run::of(command.write_stdin("only this").output().unwrap()).assert_success();
    let prompts: Vec<_> = context.server.requests().iter().map(|request| last_prompt(request)).collect();
    assert_eq!(prompts, ["explain\n\nfn main() {}", "only this"]);
}

#[test]
fn a_prompt_may_begin_with_a_slash_and_name_a_command() {
    let context = Context::new(Script::new().reply("a").reply("b"));
    context.run(&["-p", "/etc/hosts: what is this?"]).assert_success();
    context.run(&["-p", "demo"]).assert_success();
    let prompts: Vec<_> = context.server.requests().iter().map(|request| last_prompt(request)).collect();
    assert_eq!(prompts, ["/etc/hosts: what is this?", "demo"]);
}

#[test]
fn tools_work_in_the_project_and_verbose_shows_them() {
    let edit = json!({"filePath": "greeting.txt", "content": "hello\n"});
    let context = Context::new(
        Script::new()
            .reply(Reply::new().text("Writing.").tool_call("c1", "Write", edit))
            .reply(Reply::new().tool_call("c2", "Bash", json!({"command": "cat greeting.txt"})))
            .reply("Done."),
    );
    let allowed =
        ["-p", "greet", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(cat *)", "--verbose"];
    let run = context.run(&allowed);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Writing.\n\nDone.\n"));
    assert_eq!(run.stderr, "● Write greeting.txt\n● Bash cat greeting.txt\n");
    assert_eq!(context.space.read("project/greeting.txt"), "hello\n");
    assert!(context.server.requests()[2].new_tool_results()[0].content.contains("hello"));
    context.server.assert_clean();
}

#[test]
fn what_would_be_asked_is_refused_with_the_rule_that_would_allow_it() {
    let call = Reply::new().tool_call("c1", "Bash", json!({"command": "touch made"}));
    let context = Context::new(Script::new().reply(call).reply("I may not."));
    let run = context.run(&["-p", "touch it"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "I may not.\n"));
    assert!(run.stderr.contains("not allowed: Bash touch made"), "{}", run.stderr);
    assert!(run.stderr.contains("--allowed-tools 'Bash(touch made)'"), "{}", run.stderr);
    assert!(!context.space.exists("project/made"));
    let told = &context.server.requests()[1].new_tool_results()[0];
    assert!(told.is_error && told.content.contains("Bash(touch made)"), "{}", told.content);
}

#[test]
fn a_compound_command_runs_when_all_of_it_is_covered_and_deny_wins() {
    let bash = |id: &str, command: &str| Reply::new().tool_call(id, "Bash", json!({"command": command}));
    let context = Context::new(
        Script::new()
            .reply(bash("c1", "touch a; mkdir d"))
            .reply(bash("c2", "touch b"))
            .reply(bash("c3", "touch c"))
            .reply("ok"),
    );
    let rules = ["--allowed-tools", "Bash(git *),Bash(touch *)", "--denied-tools", "Bash(touch b)"];
    let run = context.run(&[&["-p", "go"], &rules[..]].concat());
    assert_eq!(run.code, Some(0));
    let made = ["a", "b", "c"].map(|name| context.space.exists(&format!("project/{name}")));
    assert_eq!(made, [false, false, true]);
}

#[test]
fn a_denied_tool_is_not_offered_to_the_model() {
    let context = Context::new(Script::new().reply("ok"));
    context.run(&["-p", "x", "--denied-tools", "Bash,WebFetch"]).assert_success();
    let offered = context.server.requests()[0].tool_names().join(" ");
    assert_eq!(offered, "Read Write Edit Glob Grep WebSearch AskUserQuestion TodoWrite");
}

#[test]
fn the_other_provider_speaks_its_own_wire_format() {
    let call = Reply::new().tool_call("c1", "Read", json!({"filePath": "a.txt"}));
    let context = Context::new(Script::new().reply(call).reply("It says seven."));
    context.space.write("project/a.txt", "seven\n");
    let mut command = context.bare(&["-p", "read a.txt", "--provider", "openai", "--model", "gpt-4o"]);
    command.env("OPENAI_API_KEY", "test-key-for-the-fake-model");
    command.env("OPENAI_BASE_URL", format!("{}/v1", context.server.base_url()));
    assert_eq!(Run::of(command.output().unwrap()).assert_success().stdout, "It says seven.\n");
    assert_eq!(context.server.requests()[1].path, "/v1/chat/completions");
    context.server.assert_clean();
}

#[test]
fn system_prompt_flags_replace_and_append() {
    let context = Context::new(Script::new().reply("a").reply("b"));
    context.space.write("project/AGENTS.md", "Use tabs.");
    context.run(&["-p", "x", "--append-system-prompt", "Be brief."]).assert_success();
    context.run(&["-p", "x", "--system-prompt", "You are a parrot."]).assert_success();
    let requests = context.server.requests();
    let (built_in, replaced) = (requests[0].system_text(), requests[1].system_text());
    assert!(built_in.contains("Use tabs.") && built_in.ends_with("Be brief."), "{built_in}");
    assert_eq!(replaced, "You are a parrot.");
}

#[test]
fn max_turns_ends_with_a_last_word_and_a_failure_code() {
    let look = |id: &str| Reply::new().tool_call(id, "Glob", json!({"pattern": "*"}));
    let context = Context::new(Script::new().reply(look("c1")).reply("That is as far as I got."));
    let run = context.run(&["-p", "look", "--max-turns", "1"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "That is as far as I got.\n"));
    assert!(run.stderr.contains("--max-turns"), "{}", run.stderr);
}

#[test]
fn version_help_completions_and_manual_come_from_one_table() {
    let context = Context::new(Script::new());
    let text = |arguments: &[&str]| {
        let run = Run::of(context.bare(arguments).output().unwrap());
        run.assert_success();
        run.stdout
    };
    assert_eq!(text(&["--version"]), concat!("robota ", env!("CARGO_PKG_VERSION"), "\n"));
    for page in [text(&["--help"]), text(&["man"]).replace("\\-", "-"), text(&["completions", "bash"])] {
        for flag in ["--output-format", "--permission-mode", "--fork-session", "--no-session-persistence"] {
            assert!(page.contains(flag), "{flag} is missing in {page}");
        }
    }
    for page in [text(&["man"]).replace("\\-", "-"), text(&["completions", "bash"])] {
        assert!(page.contains("--older-than"), "{page}");
    }
    let page = text(&["man"]).replace("\\-", "-");
    assert!(page.contains("[--trust] -- COMMAND\\fR"), "options stand before the command: {page}");
    assert!(page.contains("robota session log SESSION [--expand] [--follow] [--json]"), "{page}");
    assert!(text(&["--help"]).contains("143  ended by SIGTERM"));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let context = Context::new(Script::new().reply(Reply::new().text(vec!["many words "; 20_000])));
    let run = Run::of(context.shell("robota -p x | head -c 5; exit $?").output().unwrap());
    assert_eq!(run.assert_success().stdout, "many ");
    let last = context.log().pop().unwrap();
    assert_eq!(last["event"], "session_shutdown", "the turn ran to its end");
}

#[test]
fn an_answer_that_broke_off_is_said_to_be_void_and_begins_on_a_line_of_its_own() {
    let script = || Script::new().reply(Reply::new().text("Half an").cut()).reply("A whole answer.");
    let run = Context::new(script()).run(&["-p", "x"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Half an\nA whole answer.\n"));
    let said = "the answer so far is void and begins anew: attempt 2 of";
    assert!(run.stderr.contains(said), "{}", run.stderr);

    let run = Context::new(script()).run(&["-p", "x", "--output-format", "json"]);
    assert_eq!(run.assert_success().frames()[0]["result"], "A whole answer.");
}
