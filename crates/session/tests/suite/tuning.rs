//! What all requests of a session have in common, what the log tells of it, and what the provider does by itself.

use std::sync::Arc;

use robota_core::{
    Body, Effort, EventKind, FinishReason, ModelEvent, ModelRequest, ModelStream, NativeWebTool,
    NativeWebTools, NativeWebToolsReport, Part, Provider, ProviderInfo, Thinking, TurnEnd,
};
use robota_session::archive::{ExportOptions, ImportId, ImportOptions, export, import_from};
use robota_session::{MemoryStore, Prompt, Session, SessionStore, replay};
use robota_testkit::{Reply, Script, ScriptedProvider};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::recorded::tampered;
use crate::scene::{Scene, id};

/// A scripted model that searches the web by itself where it is asked to, and fetches nothing.
struct Searching(Arc<ScriptedProvider>);

impl Provider for Searching {
    fn info(&self) -> &ProviderInfo {
        self.0.info()
    }

    fn configure_native_web_tools(&self, _: &str, wanted: NativeWebTools) -> NativeWebToolsReport {
        let search =
            NativeWebTool { supported: true, enabled: wanted.web_search, ..NativeWebTool::default() };
        NativeWebToolsReport { web_search: search, ..NativeWebToolsReport::unsupported() }
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        self.0.stream(request, cancel)
    }
}

fn tuned(script: Script) -> Scene {
    let mut scene = Scene::new(script);
    scene.options.provider = Arc::new(Searching(scene.provider.clone()));
    scene.options.tuning.effort = Some(Effort::High);
    scene.options.tuning.thinking = Thinking::Budget(2_000);
    scene
}

#[tokio::test]
async fn requests_are_tuned_alike_and_come_out_the_same_in_a_replay() {
    let mut scene = tuned(Script::new().reply("one").reply("two").reply("A summary.").reply("three"));
    scene.options.context_window = 100_000;
    let session = Session::create(scene.options()).await.unwrap();
    assert!(session.native_web_tools().unwrap().web_search.enabled);
    session.run("Say one. ".repeat(200)).await.unwrap();
    session.run("Say two.").await.unwrap();
    session.compact(None).await.unwrap();
    session.run("Say three.").await.unwrap();
    session.shutdown("other").await.unwrap();

    let search = NativeWebTools { web_search: true, web_fetch: false };
    let requests = scene.provider.requests();
    let tuning = |request: &ModelRequest| (request.effort, request.thinking, request.native_web_tools);
    let plain = (None, Thinking::Default, NativeWebTools::default());
    let set = (Some(Effort::High), Thinking::Budget(2_000), search);
    assert_eq!(requests.iter().map(tuning).collect::<Vec<_>>(), [set, set, plain, set]);
    assert!(requests.iter().all(|request| request.cache_key.as_deref() == Some("s")));

    let events = scene.events();
    let report = replay(&events).await;
    assert_eq!((report.first_divergence(), report.unverifiable()), (None, 0));
    let told = events.iter().find_map(|event| match &event.kind {
        EventKind::PreRun { native_web_tools, .. } => native_web_tools.clone(),
        _ => None,
    });
    assert_eq!(told.unwrap().enabled(), search);
    let otherwise = tampered(&events, 0, |line| line["tuning"]["effort"] = json!("low"));
    assert!(replay(&otherwise).await.first_divergence().is_some());
    let dropped = tampered(&events, 0, |line| drop(line.as_object_mut().unwrap().remove("tuning")));
    assert!(replay(&dropped).await.first_divergence().is_some());
}

#[tokio::test]
async fn a_resumed_session_tells_its_tuning_anew() {
    let scene = tuned(Script::new().reply("one"));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Say one.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let (_, mut options) = scene.options_with("two");
    options.tuning = robota_core::RequestTuning::default();
    let session = Session::resume(options, &id("s")).await.unwrap();
    session.run("Say two.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let report = replay(scene.events()).await;
    assert_eq!((report.first_divergence(), report.unverifiable()), (None, 0));
}

#[tokio::test]
async fn logs_of_before_there_was_tuning_replay_as_they_did() {
    let scene = Scene::new(Script::new().reply("one"));
    let session = Session::create(scene.options()).await.unwrap();
    session.run("Say one.").await.unwrap();
    session.shutdown("other").await.unwrap();
    let mut events = scene.events();
    let init = serde_json::to_value(&events[0]).unwrap();
    assert!(init.get("tuning").is_none(), "without tuning the line is what it was: {init}");
    let at = events.iter().position(|event| matches!(event.kind, EventKind::PreRun { .. })).unwrap();
    events = tampered(&events, at, |line| drop(line.as_object_mut().unwrap().remove("nativeWebTools")));
    let report = replay(&events).await;
    assert_eq!((report.first_divergence(), report.unverifiable()), (None, 0));
}

fn native(item: serde_json::Value) -> ModelEvent {
    ModelEvent::NativeContent { format: "api".into(), items: vec![item] }
}

#[tokio::test]
async fn a_paused_answer_goes_on_with_its_own_words_and_within_the_rounds() {
    let paused = |query: &str| {
        Reply::new()
            .event(ModelEvent::ServerTool { tool: "web_search".into(), query: query.into() })
            .event(native(json!({"type": "server_tool_use", "query": query})))
            .stop(FinishReason::PauseTurn)
    };
    let scene = Scene::new(Script::new().reply(paused("a")).reply(paused("b")).reply("Found."));
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("Look it up.").await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.rounds), ("Found.", 3));
    session.shutdown("other").await.unwrap();
    let sent = scene.provider.requests().pop().unwrap().messages;
    let parts = sent.iter().filter_map(|message| match &message.body {
        Body::Assistant { parts, .. } => Some(parts.clone()),
        _ => None,
    });
    let part = |query: &str| {
        vec![Part::Native {
            format: "api".into(),
            items: vec![json!({"type": "server_tool_use", "query": query})],
        }]
    };
    assert_eq!(parts.collect::<Vec<_>>(), [part("a"), part("b")]);
    let report = replay(scene.events()).await;
    assert_eq!((report.first_divergence(), report.unverifiable()), (None, 0));

    let script = (0..3).fold(Script::new(), |script, _| script.reply(paused("again"))).reply("Enough.");
    let mut scene = Scene::new(script);
    scene.options.max_turns = 3;
    let session = Session::create(scene.options()).await.unwrap();
    let outcome = session.run("Look it up.").await.unwrap();
    assert_eq!((outcome.ended, outcome.text.as_str(), outcome.rounds), (TurnEnd::MaxRounds, "Enough.", 3));
}

#[tokio::test]
async fn documents_and_native_content_survive_resume_fork_and_export() {
    let answer = Reply::new().text("Read.").event(native(json!({"type": "text", "text": "Read."})));
    let scene = Scene::new(Script::new().reply(answer));
    let session = Session::create(scene.options()).await.unwrap();
    let document = Part::DocumentInline {
        mime_type: "application/pdf".into(),
        data: "JVBERi0=".into(),
        name: Some("a.pdf".into()),
    };
    session.run(Prompt::new("Read this.").with_part(document.clone())).await.unwrap();
    let before = session.history();
    session.shutdown("other").await.unwrap();
    let Body::User { parts, .. } = &before[0].body else { panic!("{before:?}") };
    assert_eq!(parts[0], document);
    let Body::Assistant { parts, .. } = &before[1].body else { panic!("{before:?}") };
    assert!(matches!(parts[..], [Part::Native { .. }]), "{parts:?}");

    let (_, options) = scene.options_with(Script::new());
    let resumed = Session::resume(options.clone(), &id("s")).await.unwrap();
    assert_eq!(resumed.history(), before);
    resumed.shutdown("other").await.unwrap();
    let mut options = options;
    options.session_id = Some(id("copy"));
    let forked = Session::fork(options, &id("s")).await.unwrap();
    assert_eq!(forked.history(), before);
    let mut artifact = Vec::new();
    export(&scene.store, &id("s"), &ExportOptions::default(), &mut artifact).await.unwrap();
    let store = MemoryStore::default();
    let mut as_other = ImportOptions::default();
    as_other.id = ImportId::As(id("other"));
    import_from(&store, artifact.as_slice(), &as_other).await.unwrap();
    assert_eq!(store.load(&id("other")).await.unwrap().history.messages(), before);
}
