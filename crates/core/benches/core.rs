//! What the engine itself may cost: a verdict, a request, a message. Budgets and figures stand in
//! `benches/README.md`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on must stop")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput};
use robota_core::{
    Access, Body, Decision, History, Message, MessageRef, PermissionMode, PermissionPolicy, Rule, RuleSet,
    Timestamp, ToolCall, ToolClass, ToolSpec, sendable,
};

/// Messages of a long session.
const MESSAGES: usize = 2_000;

/// What people allow in a project that they have worked in for a while.
const ALLOW: [&str; 24] = [
    "Bash(cargo build:*)",
    "Bash(cargo test:*)",
    "Bash(cargo clippy:*)",
    "Bash(cargo fmt:*)",
    "Bash(npm run lint)",
    "Bash(npm run test:*)",
    "Bash(npm test)",
    "Bash(make -C docs html)",
    "Bash(ls *)",
    "Bash(cat *)",
    "Bash(rg *)",
    "Bash(sed -n *)",
    "Bash(git status)",
    "Bash(git diff *)",
    "Bash(git show *)",
    "Bash(git log *)",
    "Bash(gh pr view *)",
    "Bash(docker compose ps)",
    "Read",
    "Edit(/src/**)",
    "Edit(/tests/**)",
    "WebFetch(domain:docs.rs)",
    "WebFetch(domain:doc.rust-lang.org)",
    "mcp__issues__list",
];
const ASK: [&str; 4] = ["Bash(git push *)", "Bash(npm publish *)", "Bash(* --force *)", "Edit(/.github/**)"];
const DENY: [&str; 10] = [
    "Bash(rm -rf *)",
    "Bash(sudo *)",
    "Bash(curl *)",
    "Bash(wget *)",
    "Bash(git push --force *)",
    "Bash(git reset --hard *)",
    "Bash(dd *)",
    "Read(.env)",
    "Read(~/.ssh/**)",
    "Edit(/vendor/**)",
];

fn main() {
    let criterion = Criterion::default().warm_up_time(Duration::from_secs(1));
    let mut criterion = criterion.measurement_time(Duration::from_secs(3)).configure_from_args();
    verdicts(&mut criterion);
    long_verdicts(&mut criterion);
    requests(&mut criterion);
    histories(&mut criterion);
    criterion.final_summary();
}

/// A verdict on a command of 200 characters, against 38 rules of the user and the default ones.
fn verdicts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verdict on a command of 200 characters");
    let policy = policy();
    let bash = ToolSpec::new("Bash", ToolClass::Execute, "");
    let cases = [
        (
            "allowed",
            Decision::Allow,
            "git log --oneline --since=2026-01-01 --until=2026-06-30 --author=ada -- ",
        ),
        (
            "compound, asked for",
            Decision::Ask,
            "cd crates/core && cargo test -q | tail -n 20; git status && ls ",
        ),
        (
            "compound, allowed",
            Decision::Allow,
            "git status && git diff | sed -n 1,20p; cargo test 2>&1 | cat && ls ",
        ),
        (
            "loops and substitutions, allowed",
            Decision::Allow,
            "for f in a b; do cat \"$f\"; done; git show \"a$(git log -1)\" | cat; ls ",
        ),
        (
            "denied behind a wrapper",
            Decision::Deny,
            "FORCE=1 timeout 60 bash -c 'echo start; rm -rf target' && ls ",
        ),
    ];
    for (name, decision, beginning) in cases {
        let command: String =
            beginning.chars().chain("src/permission/rule.rs ".chars().cycle()).take(200).collect();
        let access = [Access::Command { command, cwd: PathBuf::from("/work/app") }];
        assert_eq!(policy.evaluate(&bash, &access).decision, decision, "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| policy.evaluate(black_box(&bash), black_box(&access)));
        });
    }
    group.finish();
}

/// A verdict on a command of a million characters.
fn long_verdicts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verdict on a command of 1 MB");
    group.sample_size(10);
    let policy = policy();
    let bash = ToolSpec::new("Bash", ToolClass::Execute, "");
    for (name, decision, end) in
        [("allowed", Decision::Allow, "ls"), ("denied at its end", Decision::Deny, "sudo ls")]
    {
        let part = "git log -3 | cat; ";
        let command = format!("{}{end}", part.repeat(1_000_000 / part.len()));
        let access = [Access::Command { command, cwd: PathBuf::from("/work/app") }];
        assert_eq!(policy.evaluate(&bash, &access).decision, decision, "{name}");
        group.bench_function(name, |bencher| {
            bencher.iter(|| policy.evaluate(black_box(&bash), black_box(&access)));
        });
    }
    group.finish();
}

/// The messages to send, from a long history.
fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request of 2,000 messages");
    let history = messages(500);
    group.bench_function("pairing calls and results", |bencher| {
        bencher.iter(|| sendable(black_box(&history)));
    });
    group.finish();
}

/// Messages added to a history, each hashed into the chain that stands for it.
fn histories(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("appending 2,000 messages to a history");
    for (name, bytes) in [("500 bytes each", 500), ("5,000 bytes each", 5_000)] {
        let messages = messages(bytes);
        group.throughput(Throughput::Elements(messages.len() as u64));
        let fresh = || (History::default(), messages.clone());
        let append = |(mut history, messages): (History, Vec<MessageRef>)| {
            for message in messages {
                history.append(message);
            }
            history
        };
        group.bench_function(name, |bencher| bencher.iter_batched(fresh, append, BatchSize::LargeInput));
    }
    group.finish();
}

fn policy() -> PermissionPolicy {
    let rules =
        |texts: &[&str]| texts.iter().map(|text| Rule::parse(text, "user settings").unwrap()).collect();
    let own = RuleSet { deny: rules(&DENY), ask: rules(&ASK), allow: rules(&ALLOW) };
    PermissionPolicy {
        mode: PermissionMode::Default,
        rules: RuleSet::join([RuleSet::seed_defaults(), own]),
        roots: vec![PathBuf::from("/work/app")],
        cwd: PathBuf::from("/work/app"),
        home: Some(PathBuf::from("/home/ada")),
        protected_dirs: Vec::new(),
        confinement: None,
    }
}

/// A prompt, then calls and their results in turn; `bytes` is the size of a message's text.
fn messages(bytes: usize) -> Vec<MessageRef> {
    let text = "words of a file, as a tool read them\n".repeat(bytes / 37 + 1);
    let body = |at: usize| match at {
        0 => Body::User { content: "Read everything.".into(), parts: Vec::new(), name: None },
        _ if at % 2 == 1 => Body::Assistant {
            content: Some(text[..bytes].into()),
            parts: Vec::new(),
            tool_calls: vec![ToolCall {
                id: format!("call_{at}"),
                name: "Read".into(),
                arguments: "{}".into(),
            }],
            reasoning: Vec::new(),
        },
        _ => Body::Tool {
            content: text[..bytes].into(),
            tool_call_id: format!("call_{}", at - 1),
            name: Some("Read".into()),
            is_error: false,
            parts: Vec::new(),
        },
    };
    let message =
        |at| Message::with_body(format!("message-{at}"), Timestamp::from_millis(0), body(at)).into();
    (0..MESSAGES).map(message).collect()
}
