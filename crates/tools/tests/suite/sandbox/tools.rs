//! The built-in tools in a sandbox: nothing of this machine is reached.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use robota_core::{Access, DynTool, OutputSpill, SpillFile, ToolContext, ToolOutcome};
use robota_tools::sandbox::{SandboxToolOptions, sandboxed_tools};
use robota_tools::{ToolOptions, Workspace, builtin_tools};
use serde_json::{Value, json};

use super::over_all;
use super::place::Place;

over_all! {
    files_are_read_written_and_edited trees_are_searched commands_run_in_the_sandbox
    nothing_of_this_machine_is_reached a_command_shows_what_it_says
    what_is_denied_is_read_by_no_other_name a_session_goes_where_its_shell_has_gone
    an_output_without_room_is_kept_in_the_sandbox what_a_command_says_is_harmless a_flood_is_shown_in_part
}

fn tools(place: &Place) -> Vec<Arc<dyn DynTool>> {
    sandboxed_tools(Arc::clone(&place.sandbox), SandboxToolOptions::default())
}

async fn call(
    tools: &[Arc<dyn DynTool>],
    name: &str,
    arguments: &Value,
    context: ToolContext,
) -> ToolOutcome {
    let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
    tool.prepare(&arguments.to_string()).unwrap().run(context).await.unwrap()
}

async fn ok(place: &Place, tools: &[Arc<dyn DynTool>], name: &str, arguments: Value) -> String {
    let context = ToolContext::new("call", place.cancel.clone());
    let outcome = call(tools, name, &arguments, context).await;
    assert!(!outcome.is_error, "{name}: {}", outcome.content);
    outcome.content
}

async fn refused(place: &Place, tools: &[Arc<dyn DynTool>], name: &str, arguments: Value) -> String {
    let context = ToolContext::new("call", place.cancel.clone());
    let outcome = call(tools, name, &arguments, context).await;
    assert!(outcome.is_error, "{name}: {}", outcome.content);
    outcome.content
}

async fn files_are_read_written_and_edited(place: &Place) {
    let tools = tools(place);
    ok(place, &tools, "Write", json!({"filePath": "src/a.rs", "content": "one\ntwo\n"})).await;
    assert_eq!(place.read("src/a.rs").await, b"one\ntwo\n");
    let text = ok(place, &tools, "Read", json!({"filePath": place.at("src/a.rs")})).await;
    assert!(text.contains("two"), "{text}");
    let edit = json!({"filePath": "src/a.rs", "oldString": "two", "newString": "three"});
    ok(place, &tools, "Edit", edit.clone()).await;
    assert_eq!(place.read("src/a.rs").await, b"one\nthree\n");
    // What somebody else has changed is not overwritten unseen.
    place.write("src/a.rs", "one\ntwo or so\n").await;
    refused(place, &tools, "Edit", edit).await;
    place.write("unseen", "x").await;
    refused(place, &tools, "Write", json!({"filePath": "unseen", "content": "y"})).await;
    let missing = refused(place, &tools, "Read", json!({"filePath": "src/b.rs"})).await;
    assert!(missing.contains("src/b.rs"), "{missing}");
}

async fn trees_are_searched(place: &Place) {
    for (name, content) in [("src/a.rs", "needle\n"), ("src/deep/b.rs", "hay\n"), ("c.txt", "needle\n")] {
        place.write(name, content).await;
    }
    let tools = tools(place);
    let found = ok(place, &tools, "Glob", json!({"pattern": "**/*.rs"})).await;
    assert!(
        found.contains("src/a.rs") && found.contains("src/deep/b.rs") && !found.contains("c.txt"),
        "{found}"
    );
    let found = ok(place, &tools, "Grep", json!({"pattern": "needle"})).await;
    assert!(found.contains("src/a.rs") && found.contains("c.txt") && !found.contains("b.rs"), "{found}");
}

async fn commands_run_in_the_sandbox(place: &Place) {
    let tools = tools(place);
    let arguments = json!({"command": "echo out; echo err >&2; exit 4"});
    if !place.runs {
        assert_eq!(ok(place, &tools, "Bash", arguments).await, "(no output)");
        return;
    }
    assert_eq!(refused(place, &tools, "Bash", arguments).await, "out\nerr\n[exit code 4]");
    place.write("sub/f", "").await;
    assert_eq!(ok(place, &tools, "Bash", json!({"command": "ls", "workingDirectory": "sub"})).await, "f");
    assert_eq!(ok(place, &tools, "Bash", json!({"command": "printf $PAGER"})).await, "cat");
    let late = refused(place, &tools, "Bash", json!({"command": "sleep 1000", "timeout": 200})).await;
    assert_eq!(late, "[timed out after 200 ms; it and everything it had started was ended]");
    let out = refused(place, &tools, "Bash", json!({"command": "true", "workingDirectory": "/etc"})).await;
    assert!(out.contains("outside of"), "{out}");
}

async fn nothing_of_this_machine_is_reached(place: &Place) {
    let tools = tools(place);
    let secret = place.put_on_host("secret.txt", b"needle");
    let folder = place.host_root();
    for (name, arguments) in [
        ("Read", json!({"filePath": secret})),
        ("Write", json!({"filePath": folder.join("new"), "content": "x"})),
        ("Edit", json!({"filePath": secret, "oldString": "needle", "newString": "x"})),
        ("Glob", json!({"pattern": "*", "path": folder})),
        ("Grep", json!({"pattern": "needle", "path": folder})),
        ("Read", json!({"filePath": "../../../../../../etc/passwd"})),
    ] {
        let text = refused(place, &tools, name, arguments).await;
        assert!(!text.contains("needle\n") && !text.contains("root:"), "{name}: {text}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    // What a call would touch is told as a path of the sandbox, without a look at this machine.
    let tool = tools.iter().find(|tool| tool.spec().name == "Read").unwrap();
    let call = tool.prepare(&json!({"filePath": "a/../b"}).to_string()).unwrap();
    let Access::Path { resolved, .. } = &call.access()[0] else { panic!("Read reads a path") };
    assert_eq!(*resolved, place.at("b"));
}

async fn a_command_shows_what_it_says(place: &Place) {
    if !place.runs {
        return;
    }
    let seen = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&seen);
    let context = ToolContext::new("call", place.cancel.clone())
        .with_progress(move |text: &str| told.lock().unwrap().push_str(text));
    call(&tools(place), "Bash", &json!({"command": "echo one; echo two >&2"}), context).await;
    assert_eq!(*seen.lock().unwrap(), "one\ntwo\n");
}

/// The runtime has one thread, and whoever asks the sandbox on it waits for itself.
#[tokio::test]
async fn what_a_call_touches_is_told_without_asking_the_sandbox() {
    let place = Place::memory().await;
    let since = std::time::Instant::now();
    for tool in tools(&place) {
        let arguments = match &*tool.spec().name {
            "Read" => json!({"filePath": "a\\xE9"}),
            "Glob" | "Grep" => json!({"pattern": "x", "path": "a\\xE9"}),
            "Bash" => json!({"command": "ls", "workingDirectory": "a\\xE9"}),
            _ => continue,
        };
        let call = tool.prepare(&arguments.to_string()).unwrap();
        assert!(format!("{:?}", call.access()).contains("xE9"), "{:?}", call.access());
    }
    assert!(since.elapsed() < std::time::Duration::from_secs(60), "it waited");
}

async fn what_is_denied_is_read_by_no_other_name(place: &Place) {
    place.write(".env", "SECRET=1\n").await;
    place.write("plain", "open\n").await;
    place.run("ln -s .env notes; mkdir d; ln -s .. d/up").await;
    let mut options = SandboxToolOptions::default();
    options.unreadable = Some(Arc::new(|path: &Path| path.ends_with(".env")));
    let tools = sandboxed_tools(Arc::clone(&place.sandbox), options);
    assert!(ok(place, &tools, "Read", json!({"filePath": "plain"})).await.contains("open"));
    if place.runs {
        for path in ["notes", "d/up/notes", "d/up/.env"] {
            let read = refused(place, &tools, "Read", json!({"filePath": path})).await;
            assert!(read.contains("permission rules deny"), "{path}: {read}");
            let found = ok(place, &tools, "Grep", json!({"pattern": "S", "path": path})).await;
            assert!(!found.contains("SECRET"), "{path}: {found}");
        }
    }
}

async fn a_session_goes_where_its_shell_has_gone(place: &Place) {
    if !place.runs {
        return;
    }
    let tools = tools(place);
    place.write("sub/deep/f", "").await;
    let cwd = |text: &str| {
        let tool = tools.iter().find(|tool| tool.spec().name == "Bash").unwrap();
        let call = tool.prepare(&json!({"command": text}).to_string()).unwrap();
        let Access::Command { cwd, .. } = &call.access()[0] else { panic!("Bash runs a command") };
        cwd.clone()
    };
    ok(place, &tools, "Bash", json!({"command": "cd sub && true | true"})).await;
    assert_eq!(cwd("ls"), place.at("sub"));
    assert_eq!(ok(place, &tools, "Bash", json!({"command": "ls"})).await, "deep");
    // What the command says with its exit code, or does with its output, changes nothing of it.
    let failed =
        refused(place, &tools, "Bash", json!({"command": "exec >out; cd deep; echo x; exit 7"})).await;
    assert_eq!((failed.as_str(), place.read("sub/out").await), ("[exit code 7]", b"x\n".to_vec()));
    assert_eq!(ok(place, &tools, "Glob", json!({"pattern": "*", "path": "."})).await, "f");
    // A call with a folder of its own moves nobody.
    ok(place, &tools, "Bash", json!({"command": "cd ..", "workingDirectory": place.at("")})).await;
    assert_eq!(cwd("ls"), place.at("sub/deep"));
    let out = ok(place, &tools, "Bash", json!({"command": "cd /; true"})).await;
    assert!(out.starts_with("[/ is no folder of the workspace; the next command runs in"), "{out}");
    assert_eq!(cwd("ls"), place.at("sub/deep"));
    ok(place, &tools, "Bash", json!({"command": "rm -r ../deep"})).await;
    let gone = refused(place, &tools, "Bash", json!({"command": "touch here"})).await;
    assert!(gone.starts_with("not run: the folder") && !place.exists("here").await, "{gone}");
    assert_eq!(cwd("ls"), place.sandbox.root());
}

/// Says only that outputs are to be kept.
struct Anywhere;

impl OutputSpill for Anywhere {
    fn begin(&self, _: &str) -> std::io::Result<Box<dyn SpillFile>> {
        Err(std::io::Error::other("not on this machine"))
    }
}

async fn an_output_without_room_is_kept_in_the_sandbox(place: &Place) {
    if !place.runs {
        return;
    }
    let tools = tools(place);
    let context = ToolContext::new("call", place.cancel.clone()).with_spill(Some(Arc::new(Anywhere)));
    let arguments = json!({"command": "seq 1 30000"});
    let outcome = call(&tools, "Bash", &arguments, context.clone()).await;
    let file = outcome.structured.unwrap()["outputFile"].as_str().unwrap().to_owned();
    assert!(outcome.content.contains(&file) && !outcome.content.contains("15000"), "{}", outcome.content);
    let lines: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    assert!(place.read(&file).await == lines.as_bytes());
    let text = ok(place, &tools, "Read", json!({"filePath": file, "offset": 15_000, "limit": 1})).await;
    assert!(text.contains("15000"), "{text}");
    assert_eq!(place.read(".robota/outputs/.gitignore").await, b"*\n");
    call(&tools, "Bash", &json!({"command": "echo short"}), context).await;
    assert_eq!(place.names(".robota/outputs").await.len(), 2);
}

async fn what_a_command_says_is_harmless(place: &Place) {
    if !place.runs {
        return;
    }
    let seen = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&seen);
    let context = ToolContext::new("call", place.cancel.clone())
        .with_progress(move |text: &str| told.lock().unwrap().push_str(text));
    let command = r"printf '\033[31mred\033[0m \033]0;title\007a\bb\n'";
    let outcome = call(&tools(place), "Bash", &json!({"command": command}), context).await;
    assert_eq!(outcome.content, "red a\\x08b");
    assert_eq!(*seen.lock().unwrap(), "red a\\x08b\n");
    for command in ["head -c 5000 /dev/zero", r"for i in $(seq 1000); do printf '\377\376a\200\201'; done"] {
        let text = ok(place, &tools(place), "Bash", json!({"command": command})).await;
        assert!(text.starts_with("[binary output") && !text.contains('\0'), "{text:?}");
    }
}

async fn a_flood_is_shown_in_part(place: &Place) {
    if !place.runs {
        return;
    }
    let seen = Arc::new(Mutex::new(0));
    let told = Arc::clone(&seen);
    let context = ToolContext::new("call", place.cancel.clone())
        .with_progress(move |text: &str| *told.lock().unwrap() += text.len());
    let outcome = call(&tools(place), "Bash", &json!({"command": "yes | head -c 3000000"}), context).await;
    assert!(outcome.content.len() < 30_000, "{}", outcome.content.len());
    let seen = *seen.lock().unwrap();
    assert!((1..1_000_000).contains(&seen), "{seen}");
}

#[tokio::test]
async fn the_model_is_told_the_same_as_everywhere() {
    let place = Place::memory().await;
    let here = builtin_tools(ToolOptions::new(
        Workspace::new(PathBuf::from("/"), [], None),
        Vec::<(OsString, OsString)>::new(),
    ));
    let specs = |tools: &[Arc<dyn DynTool>]| -> Vec<_> {
        let told = tools.iter().map(|tool| tool.spec());
        told.map(|spec| (spec.name.clone(), spec.description.clone(), spec.input_schema.clone())).collect()
    };
    assert_eq!(specs(&tools(&place)), specs(&here));
}
