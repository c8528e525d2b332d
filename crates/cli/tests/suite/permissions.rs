//! `robota permissions`: verdicts for rows, explanations and the rules in force.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use robota_testkit::Script;
use serde_json::{Value, json};

use crate::context::{Context, Run};

fn context() -> Context {
    Context::new(Script::new())
}

/// Runs `robota permissions …` without any provider.
fn permissions(context: &Context, arguments: &[&str]) -> Run {
    Run::of(context.bare(&[&["permissions"], arguments].concat()).output().unwrap())
}

/// What `robota permissions check` says to `input`.
fn check(context: &Context, input: impl Into<Vec<u8>>) -> Run {
    Run::of(context.bare(&["permissions", "check"]).write_stdin(input).output().unwrap())
}

/// A row in the project, with the members of `rest` over those of a plain one.
fn row(context: &Context, rest: &Value) -> String {
    let mut row =
        json!({"id": 1, "cwd": context.space.path("project"), "tool": "Bash", "args": {"command": "ls"}});
    row.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    format!("{row}\n")
}

/// Verdict and rule for a call of `tool`.
#[track_caller]
fn decided(
    context: &Context,
    rules: &Value,
    mode: &str,
    tool: &str,
    args: &Value,
) -> (String, Option<String>) {
    let row = row(context, &json!({"rules": rules, "mode": mode, "tool": tool, "args": args}));
    let run = check(context, row);
    let [answer] = &run.assert_success().frames()[..] else { panic!("{}", run.stdout) };
    let text = |key: &str| answer[key].as_str().map(str::to_owned);
    (text("verdict").unwrap_or_else(|| panic!("{answer}")), text("rule"))
}

#[test]
fn rules_and_mode_decide_as_in_a_run() {
    let context = context();
    let rules = json!({
        "allow": ["Bash(git *)", "Read(~/notes/**)", "mcp__docs", "Agent(reviewer)", "WebFetch(domain:docs.rs)"],
        "ask": ["Bash(git push *)"],
        "deny": ["Bash(rm *)", "Read(*.pem)"],
    });
    let cases = [
        ("default", "Bash", json!({"command": "git status"}), "allow", Some("Bash(git *)")),
        // Arguments count as the tool reads them, by their other names too.
        ("default", "Bash", json!({"cmd": "git status"}), "allow", Some("Bash(git *)")),
        ("bypassPermissions", "Bash", json!({"command": "git push origin"}), "ask", Some("Bash(git push *)")),
        ("bypassPermissions", "Bash", json!({"command": "rm x"}), "deny", Some("Bash(rm *)")),
        ("default", "Bash", json!({"command": "make"}), "ask", None),
        ("plan", "Bash", json!({"command": "make"}), "deny", None),
        ("bypassPermissions", "Bash", json!({"command": "make"}), "allow", None),
        ("plan", "Read", json!({"file_path": "~/notes/a"}), "allow", Some("Read(~/notes/**)")),
        ("default", "Read", json!({"filePath": "~/other"}), "ask", None),
        ("default", "Read", json!({"filePath": "key.pem"}), "deny", Some("Read(*.pem)")),
        ("plan", "Glob", json!({"pattern": "*.rs"}), "allow", None),
        ("acceptEdits", "Write", json!({"file_path": "a", "content": ""}), "allow", None),
        ("acceptEdits", "Write", json!({"file_path": ".git/config", "content": ""}), "ask", None),
        // Every session has these rules.
        ("plan", "Read", json!({"file_path": ".robota/skills/a.md"}), "allow", Some("Read(.robota/**)")),
        (
            "default",
            "WebFetch",
            json!({"url": "https://docs.rs/serde"}),
            "allow",
            Some("WebFetch(domain:docs.rs)"),
        ),
        ("default", "mcp__docs__search", json!({}), "allow", Some("mcp__docs")),
        ("default", "mcp__other__search", json!({}), "ask", None),
        ("plan", "Unheard", json!({}), "deny", None),
        // Tools of Claude Code go by the rules that its names stand for.
        ("default", "Task", json!({"subagentType": "reviewer"}), "allow", Some("Agent(reviewer)")),
        (
            "bypassPermissions",
            "MultiEdit",
            json!({"file_path": "key.pem", "edits": []}),
            "deny",
            Some("Read(*.pem)"),
        ),
        ("bypassPermissions", "NotebookEdit", json!({"notebook_path": ".git/a.ipynb"}), "ask", None),
        ("acceptEdits", "NotebookEdit", json!({"notebookPath": "a.ipynb"}), "allow", None),
    ];
    for (mode, tool, args, verdict, rule) in cases {
        let expected = (verdict.to_owned(), rule.map(str::to_owned));
        assert_eq!(decided(&context, &rules, mode, tool, &args), expected, "{mode} {tool} {args}");
    }
    assert!(!context.space.exists("project/.robota"), "nothing is written");
}

#[test]
fn every_row_has_its_answer_and_broken_ones_do_not_stop_the_rest() {
    let context = context();
    let (root, row) = (context.space.path("project"), |rest: Value| row(&context, &rest));
    context.space.write("project/file", "");
    let folder = root.display();
    let without = |key: &str| {
        let mut value: Value = serde_json::from_str(&row(json!({"id": "w"}))).unwrap();
        value.as_object_mut().unwrap().remove(key);
        format!("{value}\n")
    };
    let rows: Vec<(String, String)> = vec![
        ("not json\n".into(), r#"{"id":null,"error":"the line is not a JSON object"}"#.into()),
        ("{\"id\":2,\n".into(), r#"{"id":null,"error":"the line is not JSON: EOF while parsing a value at column 8"}"#.into()),
        (without("id"), r#"{"id":null,"error":"missing field `id`"}"#.into()),
        (without("tool"), r#"{"id":"w","error":"missing field `tool`"}"#.into()),
        (without("args"), r#"{"id":"w","error":"missing field `args`"}"#.into()),
        (row(json!({"cwd": 5})), r#"{"id":1,"error":"`cwd` must be a string"}"#.into()),
        (
            row(json!({"id": {"a": [1.5e3]}, "cwd": root.join("file")})),
            format!(r#"{{"id":{{"a":[1500.0]}},"error":"`cwd`: {folder}/file: not a folder"}}"#),
        ),
        (
            row(json!({"cwd": root.join("gone")})),
            format!(r#"{{"id":1,"error":"`cwd`: {folder}/gone: No such file or directory (os error 2)"}}"#),
        ),
        (
            row(json!({"mode": "yolo"})),
            r#"{"id":1,"error":"`yolo` is not a permission mode; use plan, default, acceptEdits or bypassPermissions"}"#.into(),
        ),
        (row(json!({"tool": ""})), r#"{"id":1,"error":"`tool` is empty"}"#.into()),
        (row(json!({"args": ["ls"]})), r#"{"id":1,"error":"`args` must be an object"}"#.into()),
        (
            row(json!({"args": {}})),
            r#"{"id":1,"error":"the arguments of Bash cannot be used: missing field `command`"}"#.into(),
        ),
        (
            row(json!({"tool": "Agent", "args": {"subagent_type": 1}})),
            r#"{"id":1,"error":"`args.subagent_type` must be a string"}"#.into(),
        ),
        ("\n \t\n".into(), String::new()),
        (
            row(json!({"id": null, "expected": "deny", "rules": {"deny": ["Bash"], "ask": null}})),
            r#"{"id":null,"verdict":"deny","reason":"The deny rule `Bash` (rules.deny[0]) covers every call of `Bash`.","rule":"Bash"}"#.into(),
        ),
    ];
    let input: String = rows.iter().map(|(row, _)| row.as_str()).collect();
    let run = check(&context, input);
    let expected: Vec<&str> =
        rows.iter().map(|(_, answer)| answer.as_str()).filter(|answer| !answer.is_empty()).collect();
    assert_eq!(run.assert_success().stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_rule_that_cannot_be_used_is_named() {
    let context = context();
    let cases = [
        (
            json!({"deny": ["Read", "Bash(a"]}),
            "`rules.deny[1]`: `Bash(a` is not a permission rule: the `(` is not closed",
        ),
        (json!({"alow": []}), "`rules`: unknown field `alow`, expected one of `deny`, `ask`, `allow`"),
        (json!([]), "`rules` must be an object"),
        (json!({"ask": "Bash"}), "`rules.ask` must be a list"),
        (json!({"ask": ["Read", null]}), "`rules.ask[1]` must be a string"),
    ];
    for (rules, error) in cases {
        let run = check(&context, row(&context, &json!({"rules": rules})));
        assert_eq!(run.assert_success().frames(), [json!({"id": 1, "error": error})]);
    }
}

#[test]
fn long_lines_and_other_bytes_are_no_trouble() {
    let context = context();
    let long = format!("echo {}", "a".repeat(1_000_000));
    let rules = json!({"allow": ["Bash(echo *)"]});
    let mut input =
        row(&context, &json!({"id": "long", "rules": rules, "args": {"command": long}})).into_bytes();
    // Some editors put a byte order mark in front of a file.
    input.splice(0..0, *b"\xef\xbb\xbf");
    input.extend(b"{\"id\":\"bytes\",\"cwd\":\"\xff\"}\n");
    input.extend(std::iter::repeat_n(b'x', 17 * 1024 * 1024));
    // The last line needs no end.
    input.extend(format!("\n{}", row(&context, &json!({"id": "last"})).trim_end()).into_bytes());
    let run = check(&context, input);
    let answers = run.assert_success().frames();
    assert_eq!(
        (answers.len(), &answers[0]["id"], &answers[0]["verdict"]),
        (4, &json!("long"), &json!("allow"))
    );
    assert_eq!(answers[1], json!({"id": "bytes", "error": "the line is not UTF-8 text: see byte 22"}));
    assert_eq!(answers[2], json!({"id": null, "error": "the line has more than 16777216 bytes"}));
    assert_eq!((&answers[3]["id"], &answers[3]["verdict"]), (&json!("last"), &json!("ask")));
}

#[test]
fn an_answer_comes_before_the_next_row_is_read() {
    let context = context();
    let mut child = context
        .process(&["permissions", "check"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    for id in 0..3 {
        input.write_all(row(&context, &json!({"id": id})).as_bytes()).unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["verdict"]), (&json!(id), &json!("ask")));
    }
    drop(input);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn streams_that_cannot_be_used_are_told_apart_from_rows() {
    let context = context();
    let shell = |line: &str| Run::of(context.shell(line).output().unwrap());
    shell("robota permissions check < /").assert_failure(4, &["standard input cannot be read"]);
    shell("echo x | robota permissions check > /dev/full")
        .assert_failure(4, &["standard output cannot be written"]);
    shell("robota permissions check x").assert_failure(2, &["unexpected argument 'x'"]);
    shell("robota permissions explain").assert_failure(2, &["<COMMAND>", "-- COMMAND..."]);
    let run = shell("yes x | robota permissions check | head -n 1");
    assert_eq!(run.assert_success().stdout, "{\"id\":null,\"error\":\"the line is not a JSON object\"}\n");
}

/// A project whose own settings deny one thing and allow another, and a user who allows a third.
fn with_settings() -> Context {
    let context = context();
    let user = "{\"permissions\": {\n  \"allow\": [\"Bash(git *)\"],\n  \"defaultMode\": \"plan\"}}";
    context.space.write("home/.robota/settings.json", user);
    let project = "{\"permissions\": {\n  \"deny\": [\"Bash(rm *)\"],\n  \"allow\": [\"Bash(make)\"]}}";
    context.space.write("project/.robota/settings.json", project);
    context
}

/// Text in which the folders of the test have the names of the documents.
fn settled(context: &Context, text: &str) -> String {
    let folder = |name| context.space.path(name).canonicalize().unwrap().display().to_string();
    text.replace(&folder("project"), "/home/ada/app").replace(&folder("home"), "/home/ada")
}

#[test]
fn the_list_tells_where_everything_comes_from() {
    let context = with_settings();
    let run = permissions(&context, &["list", "--allowed-tools", "Bash(ls *),Read(//opt/**)"]);
    let expected = "\
mode       plan (permissions.defaultMode of the settings)
workspace  /home/ada/app (not trusted)

deny
  Bash(rm *)  /home/ada/app/.robota/settings.json:2

ask
  (no rules)

allow
  Read(.agents/**)  defaults
  Read(.claude/**)  defaults
  Read(.robota/**)  defaults
  Glob(.agents/**)  defaults
  Glob(.claude/**)  defaults
  Glob(.robota/**)  defaults
  Bash(git *)       /home/ada/.robota/settings.json:2
  Bash(ls *)        the command line
  Read(//opt/**)    the command line

not in force
  /home/ada/app/.robota/settings.json sets 1 allow rule; ignored because this folder is not trusted; see `robota trust`, or pass --trust
";
    assert_eq!(settled(&context, &run.assert_success().stdout), expected);

    let run = permissions(
        &context,
        &["list", "--json", "--trust", "--permission-mode", "default", "--add-dir", ".."],
    );
    let listed: Value = serde_json::from_str(&settled(&context, &run.assert_success().stdout)).unwrap();
    let base = context.space.root().canonicalize().unwrap();
    let mut expected = json!({
        "mode": "default", "modeFrom": "the command line", "trusted": true,
        "cwd": "/home/ada/app", "roots": ["/home/ada/app", base],
        "deny": [{"rule": "Bash(rm *)", "from": "/home/ada/app/.robota/settings.json:2"}],
        "ask": [], "ignored": [],
    });
    expected["allow"] = listed["allow"].clone();
    assert_eq!(listed, expected);
    let last: Vec<_> = listed["allow"].as_array().unwrap()[6..].to_vec();
    assert_eq!(
        last,
        [
            json!({"rule": "Bash(git *)", "from": "/home/ada/.robota/settings.json:2"}),
            json!({"rule": "Bash(make)", "from": "/home/ada/app/.robota/settings.json:3"}),
        ]
    );
    assert!(!context.space.exists("project/.robota/logs"), "nothing is written");
}

#[test]
fn an_explanation_counts_what_a_run_would() {
    let context = with_settings();
    let verdict = |arguments: &[&str]| {
        let run = permissions(&context, &[&["explain", "--json"], arguments].concat());
        let [told] = &run.assert_success().frames()[..] else { panic!("{}", run.stdout) };
        (told["verdict"].clone(), told["rule"].clone(), told["command"].clone())
    };
    let decided =
        |verdict: &str, rule: Option<&str>, command: &str| (json!(verdict), json!(rule), json!(command));
    assert_eq!(verdict(&["--", "git", "log"]), decided("allow", Some("Bash(git *)"), "git log"));
    // Of a project that is not trusted only what denies counts.
    assert_eq!(verdict(&["make"]), decided("deny", None, "make"));
    assert_eq!(verdict(&["--trust", "make"]), decided("allow", Some("Bash(make)"), "make"));
    assert_eq!(verdict(&["--", "rm", "-rf", "a b"]), decided("deny", Some("Bash(rm *)"), "rm -rf 'a b'"));
    assert_eq!(verdict(&["--denied-tools", "Bash(git log)", "git log"]).1, json!("Bash(git log)"));
    context.space.write("project/sub/deep/file", "");
    assert_eq!(verdict(&["--cwd", "sub/deep", "--", "git", "log"]).0, json!("allow"));
    permissions(&context, &["explain", "--cwd", "gone", "ls"]).assert_failure(2, &["gone", "cannot be used"]);
    permissions(&context, &["explain", "--allowed-tools", "Bash(", "ls"])
        .assert_failure(2, &["not a permission rule"]);
}

#[test]
fn every_part_of_a_command_line_is_listed_with_what_becomes_of_it() {
    let context = with_settings();
    let run = permissions(
        &context,
        &["explain", "--permission-mode", "default", "--trust", "git log | head -3; rm x"],
    );
    let expected = "\
Bash in /home/ada/app, mode default
  git log | head -3; rm x

parts
  1. git log  (in pipeline)
     covered by `Bash(git *)` (/home/ada/.robota/settings.json:2)
  2. head -3  (in pipeline)
     not covered: no allow rule covers `head -3`
  3. rm x
     denied by `Bash(rm *)` (/home/ada/app/.robota/settings.json:2)

verdict: deny
  The deny rule `Bash(rm *)` (/home/ada/app/.robota/settings.json:2) matches `rm x` in the command.
";
    assert_eq!(settled(&context, &run.assert_success().stdout), expected);
}

#[test]
fn a_call_of_another_tool_is_explained_too() {
    let context = with_settings();
    let args = ["explain", "--tool", "Write", "--args", r#"{"file_path":"notes.md","content":""}"#];
    let run = permissions(&context, &[&args[..], &["--permission-mode", "default"]].concat());
    let expected = "\
Write in /home/ada/app, mode default

verdict: ask
  In default mode Write needs consent, and no allow rule covers `/home/ada/app/notes.md`.

this rule would allow it
  Edit(/notes.md)

not in force
  /home/ada/app/.robota/settings.json sets 1 allow rule; ignored because this folder is not trusted; see `robota trust`, or pass --trust
";
    assert_eq!(settled(&context, &run.assert_success().stdout), expected);
    permissions(&context, &["explain", "--tool", "Read", "--args", "{}"])
        .assert_failure(2, &["missing field"]);
    permissions(&context, &["explain", "--tool", "Read", "--args", "x"])
        .assert_failure(2, &["--args", "not JSON"]);
}
