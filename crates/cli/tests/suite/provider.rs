//! `robota provider`: what is set up, whether it works, and what is wrong when it does not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use robota_testkit::{FakeModelServer, Reply, Script};
use serde_json::{Value, json};

use crate::context::{Context, Run};

/// A key of the settings, which must turn up nowhere.
const KEY: &str = "sk-secret-0123456789";

/// A home whose profile `work` leads to a server that plays `script`.
fn with_profile(script: impl Into<Script>, model: &str) -> Context {
    let context = Context::new(script);
    profile(
        &context,
        json!({"type": "openai", "model": model, "apiKey": KEY, "baseURL": context.server.base_url()}),
    );
    context
}

fn profile(context: &Context, profile: impl Into<Value>) {
    let profile: Value = profile.into();
    let settings = json!({"currentProvider": "work", "providers": {"work": profile}});
    context.space.write("home/.robota/settings.json", settings.to_string());
}

/// Runs `robota provider` without any key in the environment.
fn run(context: &Context, arguments: &[&str]) -> Run {
    let run = Run::of(context.bare(&[&["provider"], arguments].concat()).output().unwrap());
    assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY), "{}{}", run.stdout, run.stderr);
    run
}

/// What `provider test` reports, and its exit code.
fn tested(context: &Context, arguments: &[&str]) -> (Value, Option<i32>) {
    let run = run(context, &[&["test", "--json"], arguments].concat());
    (serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr)), run.code)
}

/// What the test found wrong, and its exit code.
fn problem(context: &Context) -> (String, String, String, Option<i32>) {
    let (report, code) = tested(context, &[]);
    let text = |field: &str| report["problem"][field].as_str().unwrap_or_default().to_owned();
    assert_eq!(report["ok"], false, "{report}");
    (text("about"), text("message"), text("hint"), code)
}

fn tool() -> Reply {
    Reply::new().tool_call("c1", "ping", json!({}))
}

#[test]
fn a_provider_that_works_is_measured() {
    let script = Script::new().models(["gpt-4.1", "other"]).reply("OK").reply(tool());
    let context = with_profile(script, "gpt-4.1");
    let (report, code) = tested(&context, &[]);
    assert_eq!((code, &report["ok"], &report["answer"]), (Some(0), &json!(true), &json!("OK")), "{report}");
    assert_eq!((&report["models"], &report["tools"]), (&json!(2), &json!("called")));
    for time in ["connectMs", "firstByteMs", "totalMs"] {
        assert!(report[time].is_u64(), "{time} in {report}");
    }
    assert_eq!(report["key"], "`providers.work.apiKey` in the settings");
    context.server.assert_clean();
}

#[test]
fn a_model_that_calls_no_tool_is_no_failure_and_people_are_told() {
    let context = with_profile(Script::new().models(["m"]).reply("OK").reply("No."), "m");
    let told = run(&context, &["test", "work"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    for part in
        ["provider work (openai), m", "models   1 listed", "none although it was asked to", "It works."]
    {
        assert!(told.stdout.contains(part), "{part:?} is missing in: {}", told.stdout);
    }
}

#[test]
fn a_wrong_key_is_told_with_the_place_it_stands_at() {
    let context = with_profile(Script::new().reply(Reply::error(401, "no such key")), "m");
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("key", Some(3)), "{message}");
    assert!(message.contains("did not accept the key"), "{message}");
    assert!(hint.contains("`providers.work.apiKey` in the settings"), "{hint}");
}

#[test]
fn a_wrong_address_is_told_apart_from_a_wrong_model() {
    let context = with_profile(
        Script::new().models(["gpt-4.1", "gpt-4o"]).reply(Reply::error(404, "no gpt-41")),
        "gpt-41",
    );
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("model", Some(3)), "{message}");
    assert_eq!(hint, "the nearest are: gpt-4.1, gpt-4o");

    let address = json!({"type": "openai", "model": "gpt-4.1", "apiKey": KEY,
                         "baseURL": format!("{}/nowhere", context.server.base_url())});
    profile(&context, address);
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("address", Some(3)), "{message}");
    assert!(hint.contains("`providers.work.baseURL` in the settings"), "{hint}");
}

/// A server that has nothing but calls, and not the model of this one.
fn without_list(refusal: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).unwrap() > 0 {}
            if head.is_empty() {
                continue; // Only the time of a connection was taken.
            }
            for line in head.to_ascii_lowercase().lines() {
                length = line.strip_prefix("content-length: ").map_or(length, |value| value.parse().unwrap());
            }
            stream.read_exact(&mut vec![0; length]).unwrap();
            let body = if head.starts_with("POST") { refusal } else { r#"{"detail":"Not Found"}"# };
            let length = body.len();
            let head = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\nconnection: close";
            let answer = format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn a_wrong_model_is_told_where_models_are_not_listed() {
    let context = Context::new(Script::new());
    let found = |refusal: &'static str| {
        profile(
            &context,
            json!({"type": "openai", "model": "m", "apiKey": KEY, "baseURL": without_list(refusal)}),
        );
        problem(&context)
    };
    let (about, message, hint, code) = found(r#"{"error":{"message":"The model `m` does not exist"}}"#);
    assert_eq!((about.as_str(), code), ("model", Some(3)), "{message}");
    assert_eq!(hint, "check the name of the model, and whether the key may use it");
    let (about, message, hint, code) = found(r#"{"error":{"message":"Invalid URL (POST /v1/m)"}}"#);
    assert_eq!((about.as_str(), code), ("address", Some(3)), "{message}");
    assert!(hint.contains("`providers.work.baseURL` in the settings"), "{hint}");
}

#[test]
fn a_web_page_and_a_redirect_are_wrong_addresses() {
    let page = Reply::body(200, "text/html", "<html>Welcome</html>");
    let context = with_profile(Script::new().models(["m"]).reply(page), "m");
    let (about, message, _, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("address", Some(3)), "{message}");
    assert!(message.contains("text/html") && message.contains("Welcome"), "{message}");

    let away = Reply::body(302, "text/plain", "").header("location", "https://elsewhere.example/");
    let context = with_profile(Script::new().models(["m"]).reply(away), "m");
    let (about, message, _, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("address", Some(3)), "{message}");
    assert!(message.contains("redirects to https://elsewhere.example/"), "{message}");
}

#[test]
fn an_answer_in_one_piece_is_missing_streaming() {
    let answer =
        json!({"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "OK"}}]});
    let whole = Reply::body(200, "application/json", answer.to_string());
    let context = with_profile(Script::new().models(["m"]).reply(whole), "m");
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("streaming", Some(1)), "{message}");
    assert!(hint.contains("switch streaming on"), "{hint}");
}

#[test]
fn tools_that_are_refused_are_told_with_what_to_switch_on() {
    let refusal = Reply::error(400, "this model does not support tools");
    let context = with_profile(Script::new().models(["m"]).reply("OK").reply(refusal), "m");
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("tools", Some(1)), "{message}");
    assert!(hint.contains("--jinja"), "{hint}");
}

#[test]
fn a_server_that_is_not_there_is_a_matter_of_the_network() {
    let context = with_profile(Script::new(), "m");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    profile(&context, json!({"type": "ollama", "model": "m", "baseURL": url}));
    let (about, message, _, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("network", Some(1)), "{message}");
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");

    profile(&context, json!({"type": "ollama", "model": "m", "baseURL": "http://no-such-host.invalid/v1"}));
    let (about, message, _, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("network", Some(1)), "{message}");

    // Nobody speaks TLS at the other end.
    let url = context.server.base_url().replace("http://", "https://");
    profile(&context, json!({"type": "ollama", "model": "m", "baseURL": url}));
    let (about, message, _, code) = problem(&context);
    assert_eq!((about.as_str(), code), ("network", Some(1)), "{message}");
}

#[test]
fn without_a_model_those_that_there_are_help() {
    let context = Context::new(Script::new().models(["qwen3"]));
    profile(&context, json!({"type": "ollama", "baseURL": format!("{}/v1", context.server.base_url())}));
    let (about, message, hint, code) = problem(&context);
    assert_eq!((about.as_str(), message.as_str(), code), ("model", "no model is named", Some(3)));
    assert!(hint.starts_with("give --model, such as qwen3"), "{hint}");
}

#[test]
fn options_that_cannot_be_used_name_profile_and_file() {
    let context = Context::new(Script::new());
    profile(&context, json!({"type": "openai", "apiKey": KEY, "options": {"hedaers": {}}}));
    let failed = run(&context, &["test"]);
    failed.assert_failure(3, &["the provider `work`: `hedaers` in `options` is not known", "settings.json"]);
    let failed = Run::of(context.bare(&["-p", "x"]).output().unwrap());
    failed.assert_failure(3, &["the provider `work`: `hedaers` in `options` is not known", "settings.json"]);
}

#[test]
fn providers_are_listed_without_their_keys() {
    let context = with_profile(Script::new(), "gpt-4.1");
    let mut command = context.bare(&["provider", "list", "--json"]);
    command.env("GEMINI_API_KEY", KEY).env("OLLAMA_BASE_URL", "http://localhost:11434/v1");
    let listed = Run::of(command.output().unwrap());
    assert!(!listed.assert_success().stdout.contains(KEY));
    let listing: Value = serde_json::from_str(&listed.stdout).unwrap();
    let row = |index: usize, field: &str| listing["providers"][index][field].clone();
    let names: Vec<Value> = (0..3).map(|index| row(index, "name")).collect();
    assert_eq!(names, ["work", "gemini", "ollama"]);
    assert_eq!(
        (row(0, "current"), row(0, "because")),
        (json!(true), json!("`currentProvider` in the settings"))
    );
    assert_eq!((row(1, "key"), row(1, "from")), (json!("GEMINI_API_KEY"), json!("environment")));
    assert_eq!(row(2, "problem"), "no model is named for the provider `ollama`");

    let none = Context::new(Script::new());
    assert!(run(&none, &["list"]).assert_success().stdout.contains("No provider is set up"));
}

#[test]
fn models_are_listed_with_what_is_known_and_kept_for_the_next_run() {
    let context = with_profile(Script::new().models(["gpt-4.1", "house-model"]), "gpt-4.1");
    let models = |arguments: &[&str]| -> Value {
        let run = run(&context, &[&["models", "--json"], arguments].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
    };
    let asked = || context.server.requests().len();
    let listing = models(&[]);
    assert_eq!((&listing["state"], asked()), (&json!("live"), 1));
    let known = json!({"id": "gpt-4.1", "current": true, "context": 1_047_576, "output": 32_768,
                       "limits": "table", "price": {"input": 2.0, "output": 8.0}});
    assert_eq!(listing["models"][0], known);
    assert_eq!(listing["models"][1]["limits"], "assumed");
    assert!(context.space.exists("home/.robota/cache/models/work.json"));
    assert_eq!((&models(&[])["state"], asked()), (&json!("kept"), 1));
    assert_eq!((&models(&["--refresh"])["state"], asked()), (&json!("live"), 2));

    // What cannot be had anew is told as old; another address has a list of its own.
    let kept = context.space.read("home/.robota/cache/models/work.json");
    let gone = FakeModelServer::start_blocking(Script::new()).unwrap().base_url();
    let moved = json!({"type": "openai", "model": "m", "apiKey": KEY, "baseURL": gone});
    profile(&context, moved);
    run(&context, &["models"])
        .assert_failure(1, &["the models of `work` cannot be listed", "cannot connect"]);
    let of_gone = kept.replace(&context.server.base_url(), &gone);
    context.space.write("home/.robota/cache/models/work.json", of_gone);
    let listing = models(&["--refresh"]);
    assert_eq!(listing["state"], "kept");
    assert!(listing["stale"].as_str().unwrap().contains("cannot connect"), "{listing}");
}

#[test]
fn settings_tell_of_models_that_the_table_does_not_know() {
    let context = Context::new(Script::new().reply("one").reply("two"));
    let run = context.run(&["-p", "x", "--model", "house-model"]);
    assert_eq!(run.code, Some(0));
    let told =
        "the model house-model is not in the table: assuming a window of 128000 tokens; set `modelCatalog`";
    assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
    let catalogue = json!({"modelCatalog": [{"id": "house-model", "context": 32_000, "output": 4_000}]});
    context.space.write("home/.robota/settings.json", catalogue.to_string());
    context.run(&["-p", "x", "--model", "house-model"]).assert_success();
}

#[test]
fn a_command_gives_the_key_and_a_keyring_does() {
    let context = Context::new(Script::new().models(["m"]).reply("one").reply("two"));
    let url = context.server.base_url();
    let header = |index: usize| context.server.requests()[index].headers["authorization"].clone();
    let ask = |path: Option<String>| {
        let mut command = context.bare(&["-p", "x"]);
        path.map(|path| command.env("PATH", path));
        Run::of(command.output().unwrap())
    };
    let helper = |command: &str| json!({"type": "openai", "model": "gpt-4.1", "baseURL": url, "apiKeyHelper": command});
    profile(&context, helper("echo key-of-the-helper"));
    assert_eq!(ask(None).assert_success().stdout, "one\n");
    assert_eq!(header(0), "Bearer key-of-the-helper");
    profile(&context, helper("echo key-of-the-helper; echo the vault is sealed >&2; exit 7"));
    let failed = ask(None);
    failed.assert_failure(3, &["the provider `work` has no key", "ended with code 7: the vault is sealed"]);
    assert!(!failed.stdout.contains("key-of-the-helper\n"), "{}", failed.stdout);

    let keyring =
        json!({"type": "openai", "model": "gpt-4.1", "baseURL": url, "apiKey": "$KEYRING:robota/work"});
    profile(&context, keyring);
    let script =
        "#!/bin/sh\n[ \"$*\" = 'lookup service robota account work' ] && printf key-of-the-keyring\n";
    write_program(&context, "bin/secret-tool", script);
    write_program(&context, "bin/security", "#!/bin/sh\nprintf key-of-the-keyring\n");
    let path = format!("{}:/usr/bin:/bin", context.space.path("bin").display());
    assert_eq!(ask(Some(path)).assert_success().stdout, "two\n");
    assert_eq!(header(1), "Bearer key-of-the-keyring");
}

fn write_program(context: &Context, path: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    context.space.write(path, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(context.space.path(path), mode).unwrap();
}

/// What the flags about effort and thinking make of a request: `--effort medium`, `--max-thinking-tokens 2000` and
/// `--thinking disabled`, each in a run of its own.
fn tuned(profile_of: Value, fields: &[&str]) -> [Value; 3] {
    let context = Context::new(Script::new().reply("one").reply("two").reply("three"));
    let mut work = profile_of;
    work["apiKey"] = json!(KEY);
    work["baseURL"] = json!(context.server.base_url());
    profile(&context, work);
    let flags = [["--effort", "medium"], ["--max-thinking-tokens", "2000"], ["--thinking", "disabled"]];
    for flags in flags {
        let run = Run::of(context.bare(&[&["-p", "x"], &flags[..]].concat()).output().unwrap());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    context.server.assert_clean();
    let requests = context.server.requests();
    let of = |index: usize| {
        let body = requests[index].json.as_ref().unwrap();
        let said = fields.iter().filter_map(|field| Some(((*field).to_owned(), body.get(*field)?.clone())));
        Value::Object(said.collect())
    };
    assert_eq!(requests.len(), 3);
    [of(0), of(1), of(2)]
}

#[test]
fn flags_about_effort_and_thinking_reach_the_model() {
    let anthropic =
        tuned(json!({"type": "anthropic", "model": "claude-opus-4-5"}), &["thinking", "output_config"]);
    assert_eq!(
        anthropic,
        [
            json!({"output_config": {"effort": "medium"}}),
            json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}),
            json!({"thinking": {"type": "disabled"}}),
        ]
    );
    let responses = json!({"type": "openai", "model": "gpt-5", "options": {"apiSurface": "responses"}});
    assert_eq!(
        tuned(responses, &["reasoning"]),
        [
            json!({"reasoning": {"effort": "medium", "summary": "auto"}}),
            json!({"reasoning": {"effort": "low", "summary": "auto"}}),
            json!({"reasoning": {"effort": "minimal"}}),
        ]
    );
    let thinks =
        |config: Value| json!({"generationConfig": {"maxOutputTokens": 32_000, "thinkingConfig": config}});
    assert_eq!(
        tuned(json!({"type": "gemini", "model": "gemini-2.5-flash"}), &["generationConfig"]),
        [
            thinks(json!({"includeThoughts": true, "thinkingBudget": 8192})),
            thinks(json!({"includeThoughts": true, "thinkingBudget": 2000})),
            thinks(json!({"includeThoughts": false, "thinkingBudget": 0})),
        ]
    );
}

#[test]
fn flags_about_effort_and_thinking_reach_each_kind_of_chat() {
    let fields =
        ["reasoning_effort", "thinking", "enable_thinking", "thinking_budget", "chat_template_kwargs"];
    // A server that nobody knows is asked for effort, and for nothing that it may refuse.
    let unknown = tuned(json!({"type": "openai", "model": "gpt-5"}), &fields);
    assert_eq!(unknown, [json!({"reasoning_effort": "medium"}), json!({}), json!({})]);
    let deepseek = tuned(json!({"type": "deepseek", "model": "deepseek-v4-pro"}), &fields);
    assert_eq!(deepseek[0]["reasoning_effort"], "medium");
    assert_eq!(deepseek[1], json!({"thinking": {"type": "enabled"}}));
    assert_eq!(deepseek[2], json!({"thinking": {"type": "disabled"}}));
    let qwen = tuned(json!({"type": "qwen", "model": "qwen-plus"}), &fields);
    assert_eq!(
        qwen[1..],
        [json!({"enable_thinking": true, "thinking_budget": 2000}), json!({"enable_thinking": false}),]
    );
}

#[test]
fn flags_that_cannot_be_meant_are_refused() {
    let context = Context::new(Script::new());
    context.run(&["-p", "x", "--effort", "highest"]).assert_failure(2, &["low, medium, high, xhigh, max"]);
    context
        .run(&["-p", "x", "--thinking", "adaptive", "--max-thinking-tokens", "1"])
        .assert_failure(2, &["--max-thinking-tokens"]);
    assert_eq!(context.server.requests().len(), 0);
}

#[test]
fn a_fallback_model_answers_and_people_and_programs_are_told() {
    let told = "is overloaded (HTTP 529): busy; claude-haiku-4-5 (anthropic) is asked instead";
    for format in ["text", "stream-json"] {
        let context = Context::new(Script::new().reply(Reply::error(529, "busy")).reply("From the other."));
        let arguments = ["-p", "x", "--fallback-model", "claude-haiku-4-5", "--output-format", format];
        let mut command = context.robota(&arguments);
        let run = Run::of(command.env("ROBOTA_MAX_RETRIES", "0").output().unwrap());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let models: Vec<Value> = context
            .server
            .requests()
            .iter()
            .map(|request| {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                body["model"].clone()
            })
            .collect();
        assert_eq!(models, ["claude-sonnet-4-5", "claude-haiku-4-5"]);
        context.server.assert_clean();
        if format == "text" {
            assert_eq!(run.stdout, "From the other.\n");
            assert_eq!(run.stderr.matches(told).count(), 1, "{}", run.stderr);
            continue;
        }
        let frames = run.frames();
        let notices: Vec<_> = frames.iter().filter(|frame| frame["subtype"] == "informational").collect();
        assert_eq!(notices.len(), 1, "{}", run.stdout);
        assert_eq!(notices[0]["level"], "warning");
        assert!(notices[0]["content"].as_str().unwrap().contains(told), "{}", notices[0]);
        let result = frames.last().unwrap();
        assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("From the other.")));
    }
}
