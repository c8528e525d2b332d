//! What the documents say is what the program does: examples are compiled and run, tables are held
//! against the code, links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use robota_core::{
    Access, ModelTable, PathAccess, PermissionMode, PermissionPolicy, Rule, RuleSet, ToolClass, ToolSpec,
    Verdict,
};
use robota_framework::{ProjectPaths, Settings, Variable};
use robota_testkit::{Script, TempWorkspace};

use crate::context::{Context, Run};

mod hooks;
mod tools;

/// The programs of `docs/embedding.md`. What stands between `// docs: NAME` and `// docs: end` is
/// shown there word for word.
mod assembled {
    #![expect(dead_code, reason = "`main` is the program around the functions that the tests call")]
    #![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an embedder is a host of its own")]

    // docs: assembled
    use std::error::Error;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use robota_core::Provider;
    use robota_framework::{
        Assembly, Credential, Environment, ProjectPaths, ProviderOverrides, ResolvedProvider,
        SessionBlueprint, Settings,
    };
    use robota_providers::{ProviderOptions, ProviderSpec, build, definitions};

    #[tokio::main]
    async fn main() -> Result<(), Box<dyn Error>> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let environment: Environment = std::env::vars_os().collect();
        let assembly = assemble(&std::env::current_dir()?, home.as_deref(), environment)?;
        println!("{}", ask(&assembly, "What does this project do?").await?);
        Ok(())
    }

    /// What sessions in `cwd` are made of: settings, provider, rules, system prompt, tools, store.
    fn assemble(
        cwd: &Path,
        home: Option<&Path>,
        environment: Environment,
    ) -> Result<Assembly, Box<dyn Error>> {
        let paths = ProjectPaths::detect(cwd, home, None)?;
        let settings = Settings::load(&paths, false)?; // true: the user trusts this folder
        let overrides = ProviderOverrides::default(); // what flags would say
        let model = ResolvedProvider::resolve(&settings, &environment, &overrides, &definitions())?;
        let provider = connect(&model)?;
        Ok(SessionBlueprint::new(paths, settings, environment, model, provider).assemble()?)
    }

    /// The framework says which provider is wanted; the host builds it.
    fn connect(model: &ResolvedProvider) -> Result<Arc<dyn Provider>, Box<dyn Error>> {
        let mut spec = ProviderSpec::new(model.kind.parse()?);
        match &model.credential {
            Some(Credential::ApiKey(key)) => spec.api_key = Some(key.clone()),
            Some(Credential::BearerToken(token)) => spec.auth_token = Some(token.clone()),
            _ => {}
        }
        spec.connection.base_url.clone_from(&model.base_url);
        spec.connection.idle_timeout = model.idle_timeout;
        if let Some(options) = &model.options {
            spec.options = ProviderOptions::parse(options)?;
        }
        Ok(build(spec)?)
    }

    /// Runs one prompt in a new session.
    async fn ask(assembly: &Assembly, prompt: &str) -> Result<String, Box<dyn Error>> {
        let session = assembly.create().await?;
        let outcome = session.run(prompt).await;
        session.shutdown("other").await?;
        Ok(outcome?.text)
    }
    // docs: end

    mod in_tests {
        use super::{ask, assemble};

        // docs: in_tests
        use std::error::Error;
        use std::sync::Arc;

        use robota_core::{EventKind, TurnEnd};
        use robota_framework::Environment;
        use robota_testkit::{FakeModelServer, Reply, Script, TempWorkspace};
        use serde_json::json;

        #[tokio::test]
        async fn the_answer_comes_from_the_file() -> Result<(), Box<dyn Error>> {
            let read = json!({"filePath": "greeting.txt"});
            let script =
                Script::new().reply(Reply::new().tool_call("c1", "Read", read)).reply("It says hello.");
            let server = FakeModelServer::start(script).await?;
            let project = TempWorkspace::new().file("greeting.txt", "hello\n");

            let assembly = assemble(project.root(), None, reaching(&server))?;
            assert_eq!(ask(&assembly, "What does greeting.txt say?").await?, "It says hello.");

            let second = server.request(2).await;
            assert_eq!(second.new_tool_results()[0].content, "1\thello");
            server.assert_clean(); // no request broke a rule of the API
            Ok(())
        }

        #[tokio::test]
        async fn an_abort_keeps_what_was_said() -> Result<(), Box<dyn Error>> {
            let story = Reply::new().text("Once upon").gate("middle").text(" a time");
            let server = FakeModelServer::start(story).await?;
            let project = TempWorkspace::new();
            let session = Arc::new(assemble(project.root(), None, reaching(&server))?.create().await?);

            let mut events = session.subscribe();
            let running = Arc::clone(&session);
            let turn = tokio::spawn(async move { running.run("Tell me a story.").await });
            while let Some(event) = events.recv().await {
                if matches!(event.kind, EventKind::TextDelta { .. }) {
                    session.abort();
                    break;
                }
            }
            let outcome = turn.await??;
            assert_eq!((outcome.ended, outcome.text.as_str()), (TurnEnd::Interrupted, "Once upon"));
            Ok(())
        }

        /// An environment in which Anthropic's API is the fake model.
        fn reaching(server: &FakeModelServer) -> Environment {
            let address = server.base_url();
            [("ANTHROPIC_API_KEY", "a-key-for-the-test"), ("ANTHROPIC_BASE_URL", address.as_str())]
                .into_iter()
                .collect()
        }
        // docs: end
    }
}

mod structured {
    // docs: structured
    use std::error::Error;

    use robota_session::{OutputSchema, Prompt, Session};
    use serde_json::json;

    /// How many bolts there are, as a number that a program can go on with.
    async fn count_bolts(session: &Session) -> Result<u64, Box<dyn Error>> {
        let schema = OutputSchema::new(json!({
            "type": "object",
            "properties": {"bolts": {"type": "integer", "minimum": 0}},
            "required": ["bolts"],
        }))?;
        let prompt = Prompt::new("How many bolts are in stock?").with_output_schema(schema);
        let outcome = session.run(prompt).await?;
        let value = outcome.structured.ok_or("the turn was cut short")?;
        Ok(value["bolts"].as_u64().unwrap_or_default())
    }
    // docs: end

    #[tokio::test]
    async fn the_value_is_handed_out() {
        use std::sync::Arc;

        use robota_session::SessionOptions;
        use robota_testkit::ScriptedProvider;

        let provider = Arc::new(ScriptedProvider::new("{\"bolts\": 12}"));
        let session = Session::create(SessionOptions::new(provider, "m", "/p")).await.unwrap();
        assert_eq!(count_bolts(&session).await.unwrap(), 12);
    }
}

mod direct {
    mod guarded;
    mod sandboxed;
    mod supervised;

    // docs: direct
    use std::error::Error;
    use std::path::Path;
    use std::pin::Pin;
    use std::sync::Arc;

    use robota_core::{DynTool, InvalidArguments, PreparedCall, Provider, ToolClass, ToolOutcome, ToolSpec};
    use robota_session::{FileStore, PermissionAnswer, PermissionRequest, Session, SessionOptions};
    use serde_json::{Value, json};

    /// A tool that orders things.
    struct Order {
        spec: Arc<ToolSpec>,
    }

    impl Order {
        fn new() -> Self {
            // `Other`: in default mode a person must agree.
            let spec = ToolSpec::new("Order", ToolClass::Other, "Orders an item from the warehouse.");
            let schema = json!({
                "type": "object",
                "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["item", "count"],
            });
            Self { spec: Arc::new(spec.with_input_schema(schema)) }
        }
    }

    impl DynTool for Order {
        fn spec(&self) -> &Arc<ToolSpec> {
            &self.spec
        }

        /// Reads the arguments and does nothing yet; the permission check comes before the call runs.
        fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
            let arguments: Value = serde_json::from_str(arguments)
                .map_err(|error| InvalidArguments::new(format!("not JSON: {error}")))?;
            let (Some(item), Some(count)) = (arguments["item"].as_str(), arguments["count"].as_u64()) else {
                return Err(InvalidArguments::new("`item` must be a text and `count` a number"));
            };
            let told = format!("ordered {count} x {item}");
            Ok(PreparedCall::new(Vec::new(), move |_context| {
                Box::pin(async move { Ok(ToolOutcome::success(told)) })
            }))
        }
    }

    /// Answers the questions that rules and mode leave open; a real host asks a person here.
    fn agree(request: PermissionRequest) -> Pin<Box<dyn Future<Output = PermissionAnswer> + Send>> {
        Box::pin(async move {
            if request.tool_name == "Order" {
                PermissionAnswer::Allow
            } else {
                PermissionAnswer::Deny { reason: "only orders are made here".to_owned() }
            }
        })
    }

    /// Runs one prompt in a session of its own making, kept in `folder`.
    async fn restock(provider: Arc<dyn Provider>, folder: &Path) -> Result<String, Box<dyn Error>> {
        let mut options = SessionOptions::new(provider, "claude-sonnet-4-5", folder);
        options.system_prompt = "You keep a warehouse in stock.".into();
        options.tools = vec![Arc::new(Order::new())];
        options.permission_handler = Some(Arc::new(agree));
        options.store = Arc::new(FileStore::new(folder.join("sessions")));
        let session = Session::create(options).await?;
        let outcome = session.run("We are out of bolts.").await;
        session.shutdown("other").await?;
        Ok(outcome?.text)
    }
    // docs: end

    #[tokio::test]
    async fn the_custom_tool_runs_when_the_handler_agrees() {
        use robota_testkit::{Reply, Script, ScriptedProvider, TempWorkspace};

        let order = json!({"item": "bolt", "count": 100});
        let script = Script::new().reply(Reply::new().tool_call("c1", "Order", order)).reply("Done.");
        let provider = Arc::new(ScriptedProvider::new(script));
        let space = TempWorkspace::new();
        assert_eq!(restock(provider.clone(), space.root()).await.unwrap(), "Done.");
        assert_eq!(provider.requests()[1].messages[2].text(), "ordered 100 x bolt");
        assert!(space.snapshot().keys().any(|path| path.starts_with("sessions/logs/")));
        provider.assert_clean();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The contents of the fenced blocks that are marked `language`.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced
        .filter_map(|block| block.strip_prefix(&format!("{language}\n")))
        .map(|block| format!("{block}\n"))
        .collect()
}

/// The rows of the table whose head begins with `first`, as cells.
fn rows(text: &str, first: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_matches('|').replace("\\|", "\0");
        line.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
    };
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("| {first} |")));
    let rows: Vec<_> = lines.skip(2).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(!rows.is_empty(), "there is no table of `{first}`");
    rows
}

/// The code spans of a piece of text.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The words of a text that begin with `--` and a letter, without what stands around them.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
    let flags = words.filter(|word| word.starts_with("--") && word.len() > 3);
    flags.map(|flag| flag.trim_end_matches('-').to_owned()).collect()
}

fn help() -> String {
    let context = Context::new(Script::new());
    Run::of(context.bare(&["--help"]).output().unwrap()).stdout
}

#[test]
fn the_embedding_guide_shows_the_programs_that_are_compiled_here() {
    let (guide, here) = (read("docs/embedding.md"), include_str!("docs.rs"));
    let supervised = include_str!("docs/direct/supervised.rs");
    let guarded = include_str!("docs/direct/guarded.rs");
    let sandboxed = include_str!("docs/direct/sandboxed.rs");
    let shown = blocks(&guide, "rust");
    let programs = [
        ("assembled", here),
        ("direct", here),
        ("structured", here),
        ("supervised", supervised),
        ("guarded", guarded),
        ("sandboxed", sandboxed),
        ("in_tests", here),
    ];
    for (name, source) in programs {
        let (before, after) = source.split_once(&format!("// docs: {name}\n")).unwrap();
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let region = after.split_once(&format!("\n{indent}// docs: end")).unwrap().0;
        let dedent = |line: &str| format!("{}\n", line.strip_prefix(indent).unwrap_or(line));
        let program: String = region.lines().map(dedent).collect();
        assert!(shown.contains(&program), "docs/embedding.md must show this program:\n{program}");
    }
    assert_eq!(shown.len(), programs.len(), "a further program in docs/embedding.md is not compiled");
}

#[test]
fn the_plan_of_the_embedding_guide_is_played() {
    let plans = blocks(&read("docs/embedding.md"), "json");
    let context = Context::new(Script::from_json(&plans[0]).unwrap());
    context.space.write("project/notes.txt", "Buy bolts.\n");
    let run = context.run(&["-p", "What do the notes say?", "--output-format", "json"]);
    assert_eq!(run.assert_success().frames()[0]["result"], "The notes say: buy bolts.");
    context.server.assert_clean();
}

#[test]
fn every_flag_and_exit_code_has_its_row() {
    let (page, help) = (read("docs/print-mode.md"), help());
    let documented: BTreeSet<String> =
        rows(&page, "flag").iter().flat_map(|row| flags(&row.join(" "))).collect();
    assert_eq!(documented, flags(&help));
    let codes =
        help.split_once("Exit codes:").unwrap().1.lines().filter_map(|line| line.split_whitespace().next());
    let documented = rows(&page, "code");
    assert!(codes.eq(documented.iter().map(|row| row[0].as_str())), "{documented:?}");
}

#[test]
fn every_session_command_has_its_row_and_its_examples_run() {
    let page = read("docs/sessions.md");
    let context = Context::new(Script::new().reply("It parses.").reply("Done."));
    let help = |arguments: &[&str]| {
        let run = context.bare(&[arguments, &["--help"]].concat()).output().unwrap();
        Run::of(run).assert_success().stdout.clone()
    };
    let of_all = help(&["session"]);
    let (_, commands) = of_all.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    // Descriptions go on in lines that are indented further.
    let names = commands.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    let known = names.filter_map(|line| line.split_whitespace().next());
    let rows = rows(&page, "command");
    let documented = rows.iter().map(|row| spans(&row[0])[0].split_whitespace().nth(2).unwrap());
    assert!(known.eq(documented.clone()), "{of_all}");
    for (name, row) in documented.zip(&rows) {
        let mut known = flags(&help(&["session", name]));
        known.remove("--help");
        assert_eq!(flags(&row[0]), known, "{name}");
    }

    context.run(&["-p", "explain the parser", "-n", "parser"]).assert_success();
    let examples = blocks(&page, "sh").into_iter().find(|block| block.contains("session list")).unwrap();
    for line in examples.lines() {
        Run::of(context.shell(line).output().unwrap()).assert_success();
    }
}

#[test]
fn every_permission_command_has_its_row_and_its_examples_come_out_as_shown() {
    let page = read("docs/rule-files.md");
    let context = Context::new(Script::new());
    context
        .space
        .write("home/.robota/settings.json", "{\n\"permissions\": {\n\"allow\": [\"Bash(git *)\"]}}");
    context
        .space
        .write("project/.robota/settings.json", "{\n\"permissions\": {\n\"deny\": [\"Bash(rm *)\"]}}");
    let help = Run::of(context.bare(&["permissions", "--help"]).output().unwrap()).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let known: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    let rows = rows(&page, "command");
    let documented = rows.iter().filter_map(|row| spans(&row[0])[0].split_whitespace().nth(2));
    assert_eq!(documented.collect::<BTreeSet<_>>(), known, "{help}");

    let folder = |name| context.space.path(name).canonicalize().unwrap().display().to_string();
    let settled =
        |text: &str| text.replace(&folder("project"), "/home/ada/app").replace(&folder("home"), "/home/ada");
    let (lines, shown) = (blocks(&page, "sh"), blocks(&page, "text"));
    for (line, shown) in lines.iter().zip(&shown) {
        let run = Run::of(context.shell(line).output().unwrap());
        assert_eq!(settled(&run.assert_success().stdout), *shown, "{line}");
    }
    let rows = blocks(&page, "jsonl");
    for (command, rows) in ["check", "check-url"].iter().zip(rows.chunks(2)) {
        context.space.write("project/rows.jsonl", &rows[0]);
        context.space.write("project/expected.jsonl", &rows[1]);
        let run = context.shell(&format!("robota permissions {command} < rows.jsonl")).output().unwrap();
        assert_eq!(Run::of(run).assert_success().stdout, rows[1]);
        let diff = lines[2].replace(" check ", &format!(" {command} "));
        Run::of(context.shell(&diff).output().unwrap()).assert_success();
    }
    assert_eq!((lines.len(), shown.len(), rows.len()), (3, 2, 4));
}

#[test]
fn every_variable_has_its_row() {
    let rows = rows(&read("docs/settings.md"), "variable");
    let documented = rows.iter().map(|row| (row[0].trim_matches('`'), row[1].as_str()));
    assert!(
        documented.eq(Variable::ALL.iter().map(|variable| (variable.name, variable.meaning))),
        "{rows:?}"
    );
}

#[test]
fn every_setting_has_its_row_and_every_example_is_understood() {
    let page = read("docs/settings.md");
    let (of_file, of_profile) = page.split_once("Of a profile:").unwrap();
    let rows = [rows(of_file, "key"), rows(of_profile, "key")].concat();
    let documented = rows.iter().map(|row| {
        let key = spans(&row[0])[0];
        key.rsplit('.').next().unwrap_or(key).to_owned()
    });
    let source = read("crates/framework/src/settings/file.rs");
    let arms = source.lines().filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once("\" =>")?.0));
    let known: BTreeSet<String> = arms.map(str::to_owned).collect();
    assert_eq!(documented.collect::<BTreeSet<_>>(), known);

    let space = TempWorkspace::new().dir("project/.git").dir("shared");
    let paths = ProjectPaths::detect(&space.path("project"), Some(&space.path("home")), None).unwrap();
    let examples = blocks(&page, "json");
    assert!(examples.len() >= 3);
    for example in examples {
        space.write("home/.robota/settings.json", &example);
        let settings = Settings::load(&paths, false).unwrap();
        assert!(settings.warnings.is_empty(), "{:?} in {example}", settings.warnings);
    }
}

#[test]
fn every_event_has_its_row_and_every_line_of_a_log_is_one() {
    let page = read("docs/sessions.md");
    let source = read("crates/core/src/event/kind.rs");
    let (_, body) = source.split_once("pub enum EventKind {\n").unwrap();
    let variants = body.split_once("\n}\n").unwrap().0.lines();
    let variants = variants
        .filter_map(|line| line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase)));
    let names = variants.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default());
    let snake = |name: &str| {
        let letters = name.char_indices().map(|(at, letter)| match letter.is_uppercase() && at > 0 {
            true => format!("_{}", letter.to_ascii_lowercase()),
            false => letter.to_ascii_lowercase().to_string(),
        });
        letters.collect::<String>()
    };
    let known: BTreeSet<String> = names.filter(|name| *name != "Unknown").map(snake).collect();
    let documented: BTreeSet<String> =
        rows(&page, "event").iter().map(|row| spans(&row[0])[0].to_owned()).collect();
    assert_eq!(documented, known);
    for line in blocks(&page, "json").iter().flat_map(|block| block.lines()) {
        let event: robota_core::Event = serde_json::from_str(line).unwrap();
        assert!(!matches!(event.kind, robota_core::EventKind::Unknown(_)), "{line}");
    }
}

#[test]
fn every_frame_that_is_shown_has_the_fields_of_a_real_one() {
    use robota_testkit::Reply;
    use serde_json::{Value, json};

    let answer = Reply::new().thinking("I look first.", "sig-1").text("Let me look.");
    let answer = answer.tool_call("call_1", "Read", json!({"filePath": "greeting.txt"}));
    let answer = answer.tool_call("call_2", "Bash", json!({"command": "touch made"}));
    let script = Script::new().reply(answer).reply(Reply::error(429, "slow down")).reply("It says hello.");
    let context = Context::new(script);
    context.space.write("project/greeting.txt", "hello\n");
    let hook = json!({"type": "command", "command": r#"echo '{"systemMessage": "Tests were not run."}'"#});
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    context.space.write("home/.robota/settings.json", settings.to_string());
    let real = context.run(&["-p", "go", "--output-format", "stream-json"]).frames();
    let shape = |frame: &Value| {
        let own = |key: &&String| !["session_id", "uuid"].contains(&key.as_str());
        let keys: BTreeSet<_> = frame.as_object().unwrap().keys().filter(own).cloned().collect();
        let block = &frame["message"]["content"][0];
        let keys_of_block: BTreeSet<_> =
            block.as_object().into_iter().flat_map(|block| block.keys().cloned()).collect();
        (frame["type"].clone(), frame["subtype"].clone(), keys, block["type"].clone(), keys_of_block)
    };
    let shapes: Vec<_> = real.iter().map(shape).collect();
    for line in blocks(&read("docs/print-mode.md"), "json").iter().flat_map(|block| block.lines()) {
        let frame: Value = serde_json::from_str(line).unwrap();
        assert!(shapes.contains(&shape(&frame)), "no frame of a run looks like {line}");
    }
}

/// The verdict about a call of `tool` in the project `/home/ada/app`.
fn decide(mode: PermissionMode, rules: RuleSet, tool: &str, access: Access) -> Verdict {
    let class = match tool {
        "Read" | "WebSearch" => ToolClass::Inspect,
        "Edit" => ToolClass::Modify,
        "Bash" => ToolClass::Execute,
        "WebFetch" => ToolClass::Network,
        _ => ToolClass::Other,
    };
    let access = if tool == "WebSearch" || tool == "Other" { vec![] } else { vec![access] };
    let policy = PermissionPolicy {
        mode,
        rules,
        roots: vec![PathBuf::from("/home/ada/app")],
        cwd: PathBuf::from("/home/ada/app"),
        home: Some(PathBuf::from("/home/ada")),
        protected_dirs: Vec::new(),
        confinement: None,
    };
    policy.evaluate(&ToolSpec::new(tool, class, ""), &access)
}

fn command(text: &str) -> Access {
    Access::Command { command: text.to_owned(), cwd: PathBuf::from("/home/ada/app") }
}

fn path(tool: &str, text: &str) -> Access {
    let kind = if tool == "Edit" { PathAccess::Write } else { PathAccess::Read };
    Access::Path { kind, requested: text.to_owned(), resolved: PathBuf::from(text) }
}

#[test]
fn rules_do_what_the_tables_say() {
    let page = read("docs/permissions.md");
    for head in ["allow rule", "deny rule", "allow rule, project `/home/ada/app`"] {
        for row in rows(&page, head) {
            let rule: Rule = spans(&row[0])[0].parse().unwrap();
            let rules = if head == "deny rule" {
                RuleSet { deny: vec![rule], ..RuleSet::default() }
            } else {
                RuleSet { allow: vec![rule], ..RuleSet::default() }
            };
            for (cell, expected) in [(&row[1], true), (&row[2], false)] {
                for call in spans(cell) {
                    let (tool, access) = if call.starts_with('/') && head.contains("project") {
                        ("Read", path("Read", call))
                    } else {
                        ("Bash", command(call))
                    };
                    let decided_by_rule =
                        decide(PermissionMode::Default, rules.clone(), tool, access).rule.is_some();
                    assert_eq!(decided_by_rule, expected, "{} and {call}", row[0]);
                }
            }
        }
    }
}

#[test]
fn rules_about_hosts_and_names_do_what_the_tables_say() {
    let page = read("docs/permissions.md");
    let hosts = rows(&page, "rule for hosts");
    let names = rows(&page, "allow rule for agents and skills");
    for row in hosts.iter().chain(&names) {
        for rule in spans(&row[0]) {
            let allow = vec![rule.parse().unwrap()];
            let rules = RuleSet { allow, ..RuleSet::default() };
            let tool = ["WebFetch", "Skill"].into_iter().find(|tool| rule.starts_with(tool));
            for (cell, expected) in [(&row[1], true), (&row[2], false)] {
                for call in spans(cell) {
                    let access = match tool {
                        Some("WebFetch") => {
                            Access::Url { url: format!("https://{call}/"), host: call.to_owned() }
                        }
                        _ => Access::Name { name: call.to_owned() },
                    };
                    let tool = tool.unwrap_or("Agent");
                    let verdict = decide(PermissionMode::Default, rules.clone(), tool, access);
                    assert_eq!(verdict.rule.is_some(), expected, "{rule} and {call}");
                }
            }
        }
    }
}

#[test]
fn modes_do_what_the_table_says() {
    let (inside, outside) = ("/home/ada/app/a", "/etc/a");
    let calls = [
        ("Read, Glob, Grep inside the workspace", "Read", path("Read", inside)),
        ("Read, Glob, Grep outside", "Read", path("Read", outside)),
        ("Write, Edit inside", "Edit", path("Edit", inside)),
        ("Write, Edit outside", "Edit", path("Edit", outside)),
        ("Write, Edit of a protected file", "Edit", path("Edit", "/home/ada/app/.git/config")),
        ("Bash", "Bash", command("ls")),
        ("WebFetch", "WebFetch", Access::Url { url: "https://docs.rs".into(), host: "docs.rs".into() }),
        ("WebSearch", "WebSearch", command("")),
        ("any other tool", "Other", command("")),
    ];
    let rows = rows(&read("docs/permissions.md"), "call");
    assert_eq!(rows.len(), calls.len());
    for (row, (label, tool, access)) in rows.iter().zip(calls) {
        let verdicts = PermissionMode::ALL.map(|mode| decide(mode, RuleSet::default(), tool, access.clone()));
        let told = verdicts.map(|verdict| format!("{:?}", verdict.decision).to_lowercase());
        assert_eq!((row[0].as_str(), &row[1..]), (label, &told[..]));
    }
}

#[test]
fn the_map_names_what_is_there() {
    let map = read("ARCHITECTURE.md");
    let table = rows(&map, "floor");
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        let row = table.iter().find(|row| row[1] == format!("`robota-{folder}`"));
        let allowed: BTreeSet<&str> =
            row.unwrap_or_else(|| panic!("{folder} has no row"))[3].split(", ").collect();
        let manifest = read(&format!("crates/{folder}/Cargo.toml"));
        let (_, after) = manifest.split_once("[dependencies]\n").unwrap();
        let own = after.split("\n[").next().unwrap_or_default().lines();
        for used in own.filter_map(|line| line.strip_prefix("robota-")?.split(['.', ' ']).next()) {
            assert!(allowed.contains(used), "{folder} uses {used}");
        }
    }
    for span in
        spans(&map.replace("```", "")).iter().filter(|span| span.starts_with("crates/") && span.contains('.'))
    {
        let (file, test) = span.split_once("::").map_or((*span, None), |(file, test)| (file, Some(test)));
        let text = read(file);
        assert!(test.is_none_or(|test| text.contains(&format!("fn {test}("))), "{span}");
    }
}

#[test]
fn links_lead_somewhere() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "benches/README.md"].map(PathBuf::from).into();
    pages.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .map(|entry| Path::new("docs").join(entry.unwrap().file_name())),
    );
    let mut dead = Vec::new();
    for page in &pages {
        let Ok(text) = fs::read_to_string(root().join(page)) else {
            dead.push(format!("{} is not there", page.display()));
            continue;
        };
        let links = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let there = root().join(&target).exists();
            if !there || !(anchor.is_empty() || anchors(&read(target.to_str().unwrap())).contains(anchor)) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// The anchors that a reader of Markdown makes of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == ' ';
    let anchor = |heading: &str| heading.chars().filter(|letter| kept(*letter)).collect::<String>();
    headings.map(|heading| anchor(heading).to_lowercase().replace(' ', "-")).collect()
}

#[test]
fn every_type_of_provider_and_every_provider_command_has_its_row() {
    let page = read("docs/providers.md");
    let code = |names: &[&str]| match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    let rows_of = |definition: &robota_core::ProviderDefinition| {
        let keys: Vec<&str> =
            definition.key_variables.iter().copied().chain(definition.token_variable).collect();
        let one = |name: Option<&'static str>| code(name.as_slice());
        vec![
            code(&[definition.kind]),
            code(definition.aliases),
            one(definition.base_url),
            code(&keys),
            code(&[definition.base_url_variable]),
            code(&[definition.model_variable]),
            one(definition.default_model),
        ]
    };
    let definitions = robota_providers::definitions();
    let known: Vec<Vec<String>> = definitions.iter().map(rows_of).collect();
    assert_eq!(rows(&page, "type"), known);
    let variables: BTreeSet<&str> = Variable::ALL.iter().map(|variable| variable.name).collect();
    for definition in &definitions {
        let own = definition.key_variables.iter().copied().chain(definition.token_variable);
        for variable in own.chain([definition.base_url_variable, definition.model_variable]) {
            assert!(variables.contains(variable), "{variable} is not documented");
        }
    }

    // Who names no model is not told that nothing is known of the one in use.
    for model in definitions.iter().filter_map(|definition| definition.default_model) {
        assert!(ModelTable::builtin().lookup(model).known, "{model} is not in the table");
    }

    let context = Context::new(Script::new());
    for row in rows(&page, "command") {
        let command = spans(&row[0])[0];
        let name = command.split_whitespace().nth(2).unwrap();
        let help = Run::of(context.bare(&["provider", name, "--help"]).output().unwrap());
        let mut known = flags(&help.assert_success().stdout);
        known.remove("--help");
        assert_eq!(flags(command), known, "{name}");
    }
    for example in blocks(&page, "json") {
        context.space.write("home/.robota/settings.json", &example);
        Run::of(context.bare(&["provider", "list"]).output().unwrap()).assert_success();
    }
}
