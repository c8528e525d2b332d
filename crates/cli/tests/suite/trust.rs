//! Trust, from the outside: what is opened when, what is ignored, and what a decision changes.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use robota_testkit::{Reply, Script};
use rustix::fs::inotify;
use serde_json::json;

use crate::context::Context;

/// A guard against every command, as Claude Code's users write it.
const GUARD: &str = r#"{
  // Nothing runs here.
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
    {"type": "command", "command": "echo \"$CLAUDE_PROJECT_DIR\" > \"$HOME/ran\"; echo 'not today' >&2; exit 2"},
  ]}]},
}"#;

fn one_command() -> Script {
    Script::new().reply(Reply::new().tool_call("c1", "Bash", json!({"command": "touch made"}))).reply("Done.")
}

const RUN: [&str; 4] = ["-p", "make it", "--allowed-tools", "Bash"];

#[test]
fn a_guard_of_the_user_keeps_a_command_from_running() {
    let context = Context::new(one_command());
    context.space.write("home/.claude/settings.json", GUARD);
    let run = context.run(&RUN);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!context.space.path("project/made").exists());
    let requests = context.server.requests();
    let body = String::from_utf8_lossy(&requests[1].body);
    assert!(body.contains("not today"), "{body}");
    assert_eq!(context.space.read("home/ran").trim(), context.space.path("project").to_str().unwrap());
}

#[test]
fn hooks_of_a_project_run_when_it_is_trusted_and_are_named_when_not() {
    let context = Context::new(
        one_command()
            .reply("Done again.")
            .reply(Reply::new().tool_call("c2", "Bash", json!({"command": "touch again"})))
            .reply("Done."),
    );
    context.space.write("project/.claude/settings.json", GUARD);
    let run = context.run(&RUN);
    let told =
        "/.claude/settings.json sets 1 hook; ignored because this folder is not trusted; see `robota trust`";
    assert!(run.code == Some(0) && run.stderr.contains(told), "{}", run.stderr);
    assert!(context.space.path("project/made").exists() && !context.space.path("home/ran").exists());
    // Programs are told as well, where it does not disturb them.
    let json = context.run(&["-p", "make it", "--output-format", "json"]);
    assert!(json.frames().len() == 1 && json.stderr.contains(told), "{}", json.stderr);

    let trust = context.run(&["trust"]);
    trust.assert_success();
    assert!(trust.stdout.contains("hook: PreToolUse (Bash): command echo"), "{}", trust.stdout);
    assert!(trust.stdout.contains("project is trusted from now on"), "{}", trust.stdout);
    let run = context.run(&RUN);
    assert!(!run.stderr.contains("not trusted"), "{}", run.stderr);
    assert!(!context.space.path("project/again").exists() && context.space.path("home/ran").exists());
}

#[test]
fn decisions_are_listed_and_taken_back() {
    let context = Context::new(Script::new());
    context
        .space
        .write("project/.robota/settings.json", r#"{"permissions": {"allow": ["Read"]}, "env": {"A": "b"}}"#);
    context.space.write("project/sub/file", "");
    let project = context.space.path("project");
    let answer = |arguments: &[&str]| {
        let run = context.run(arguments);
        run.assert_success();
        run.frames().remove(0)
    };
    let shown = answer(&["trust", "--show", "--json"]);
    assert_eq!((&shown["trusted"], &shown["changed"]), (&json!(false), &json!(false)));
    assert!(!context.space.exists("home/.robota"), "a look decides nothing");
    let decided = answer(&["trust", "sub", "--json"]);
    assert_eq!(shown["files"], decided["files"]);
    assert_eq!(
        decided,
        json!({
            "project": project, "trusted": true, "changed": true,
            "files": [{
                "file": project.join(".robota/settings.json"),
                "claims": [{"kind": "allowRule", "detail": "Read"}, {"kind": "variable", "detail": "A"}],
            }],
        })
    );
    assert_eq!(answer(&["trust", "--list", "--json"])["trusted"][0]["folder"], json!(project));
    assert_eq!(answer(&["trust", "--show", "--json"])["trusted"], json!(true));
    let revoked = answer(&["trust", "--revoke", "--json"]);
    assert_eq!(revoked, json!({"project": project, "trusted": false, "changed": true}));
    assert_eq!(answer(&["trust", "--list", "--json"]), json!({"trusted": []}));

    let mut at_home = context.robota(&["trust"]);
    let refused = at_home.current_dir(context.space.path("home")).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    context.space.write("home/.robota/trust.json", "{");
    context.run(&["-p", "hi"]).assert_failure(3, &["trust.json cannot be understood", "move it away"]);
}

/// Tells in which order files in some folders were opened.
struct Watch {
    inotify: OwnedFd,
    folders: Vec<(i32, &'static str)>,
}

impl Watch {
    fn new(context: &Context, folders: &[&'static str]) -> Self {
        let inotify = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        let watch = |folder: &&'static str| {
            let path = context.space.path(folder);
            (inotify::add_watch(&inotify, path, inotify::WatchFlags::OPEN).unwrap(), *folder)
        };
        let folders = folders.iter().map(watch).collect();
        Self { inotify, folders }
    }

    /// The files that were opened so far, in order.
    fn opened(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut opened = Vec::new();
        while let Ok(event) = reader.next() {
            let Some(name) =
                event.file_name().filter(|_| !event.events().contains(inotify::ReadFlags::ISDIR))
            else {
                continue;
            };
            let folder =
                self.folders.iter().find(|(id, _)| *id == event.wd()).map_or("?", |(_, folder)| folder);
            opened.push(format!("{folder}/{}", name.to_str().unwrap()));
        }
        opened
    }
}

#[test]
fn trust_is_decided_before_anything_of_the_project_is_opened() {
    let context = Context::new(Script::new().reply("One.").reply("Two."));
    let configuration = [
        "project/.robota/settings.json",
        "project/.robota/settings.local.json",
        "project/.claude/settings.json",
        "project/.claude/settings.local.json",
    ];
    configuration.iter().for_each(|file| context.space.write(file, "{}"));
    let others = [
        "project/.mcp.json",
        "project/.robota/agents/a.md",
        "project/.claude/skills/s.md",
        "project/.claude/hooks/h.sh",
    ];
    others.iter().for_each(|file| context.space.write(file, "x"));
    // A decision about another project, so that there is a file to be opened.
    context.space.write("other/file", "");
    let other = context.space.path("other");
    context.run(&["trust", other.to_str().unwrap()]).assert_success();

    let folders = [
        "home/.robota",
        "project",
        "project/.robota",
        "project/.claude",
        "project/.robota/agents",
        "project/.claude/skills",
        "project/.claude/hooks",
    ];
    for trusted in [false, true] {
        if trusted {
            context.run(&["trust"]).assert_success();
        }
        let watch = Watch::new(&context, &folders);
        assert_eq!(context.run(&["-p", "hi"]).code, Some(0));
        let opened = watch.opened();
        let first = |file: &str| opened.iter().position(|opened| opened == file);
        let decided = first("home/.robota/trust.json").unwrap();
        for file in configuration {
            assert!(first(file).is_some_and(|at| at > decided), "{file} in {opened:?}");
        }
        for file in others {
            assert_eq!(first(file), None, "{opened:?}");
        }
    }
}
