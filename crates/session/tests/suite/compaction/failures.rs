//! What stands in the way of a compaction, and that it leaves the history as it was.

use super::*;

#[tokio::test]
async fn an_abort_ends_the_call_and_leaves_the_history() {
    let script = Script::new().reply(Reply::new().text("The bui").gate("half").text("ld."));
    let bench = Bench::new(script, talk());
    let abort = async {
        bench.provider.gate("half").reached().await;
        bench.cancel.cancel();
    };
    let (error, ()) = tokio::join!(bench.fails(CompactionRequest::manual()), abort);
    assert!(matches!(error, CompactionError::Cancelled));
    assert!(matches!(bench.fails(CompactionRequest::manual()).await, CompactionError::Cancelled));
    assert_eq!(bench.recorder.names(), ["compact_start", "provider_request"]);
}

/// Never answers, whatever happens.
struct Deaf(Gate);

impl HookRunner for Deaf {
    fn run<'a>(&'a self, _: &'a HookInput, _: &'a CancellationToken) -> BoxFuture<'a, HookOutcome> {
        Box::pin(async {
            self.0.pass().await;
            HookOutcome::default()
        })
    }
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_a_hook_that_hangs() {
    let bench = Bench::new("never said", talk());
    let gate = Gate::new("hook");
    let deaf = Deaf(gate.clone());
    let agent = Agent::new(bench.config.clone());
    let input = |call| HookInput::new("s".parse().unwrap(), "/p", PermissionMode::Default, call);
    let hooks = Some(CompactionHooks::new(&deaf, &input));
    let (history, sink, cancel) = (&bench.history, &bench.recorder, &bench.cancel);
    let compactor = Compactor { agent: &agent, history, sink, hooks, cancel };
    let abort = async {
        gate.reached().await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(compactor.compact(CompactionRequest::manual()), abort);
    assert!(matches!(ended, Err(CompactionError::Cancelled)));
}

#[tokio::test]
async fn failures_of_the_model_leave_the_history() {
    let empty = Bench::new(Reply::new().text(" \n"), talk());
    assert!(matches!(empty.fails(CompactionRequest::manual()).await, CompactionError::EmptySummary));

    let called = Bench::new(Reply::new().tool_call("c", "Bash", json!({})), talk());
    assert!(matches!(called.fails(CompactionRequest::manual()).await, CompactionError::EmptySummary));

    let down = Bench::new(Script::new().reply(Reply::error(500, "down")), talk());
    let error: Error = down.fails(CompactionRequest::manual()).await.into();
    assert_eq!(error.provider_error().unwrap().status(), Some(500));
    assert!(error.to_string().starts_with("the conversation could not be summarised: "), "{error}");

    let refused = Bench::new(Reply::new().text("I cannot.").stop(FinishReason::Refusal), talk());
    let error = refused.fails(CompactionRequest::manual()).await;
    assert!(
        matches!(error, CompactionError::Provider(error) if error.kind() == ProviderErrorKind::ContentFilter)
    );

    let torn = Bench::new(Reply::new().text("The bui").cut(), talk());
    assert!(matches!(torn.fails(CompactionRequest::manual()).await, CompactionError::Provider(_)));

    let mute = Bench::new("never said", talk());
    mute.recorder.break_log("disk full");
    assert!(matches!(mute.fails(CompactionRequest::manual()).await, CompactionError::Log(_)));
    assert!(mute.provider.requests().is_empty());
}

#[tokio::test]
async fn with_nothing_to_summarise_no_model_is_called() {
    let last = [user("u1", "hello"), assistant("a1", "hi")];
    for messages in [vec![], vec![user("u1", "hello")], last.to_vec()] {
        let bench = Bench::new(Script::new(), messages);
        assert!(matches!(bench.fails(CompactionRequest::manual()).await, CompactionError::Nothing));
        assert!(bench.recorder.names().is_empty());
    }
    let bench = Bench::new(Script::new(), [user("u1", "hello")]);
    assert!(matches!(bench.fails(CompactionRequest::automatic(goal(0.8))).await, CompactionError::Nothing));
}

#[tokio::test]
async fn where_it_cannot_help_it_says_what_takes_the_room() {
    let mut bench = Bench::new(Script::new(), talk());
    bench.config.system = "rule ".repeat(8_332).into();
    let error = bench.fails(CompactionRequest::automatic(goal(0.8))).await;
    assert_eq!(
        error.to_string(),
        "compaction cannot get the conversation under 80.0 % of the context window: of about 9508 tokens, 8334 would \
         remain (system prompt and tools 8334, messages that stay 0, summary 0) in a window of 10000"
    );
    let hint = error.hint().unwrap();
    for way in ["new session", "raise the threshold", "larger", "shorten the instructions"] {
        assert!(hint.contains(way), "{hint}");
    }
    assert!(bench.provider.requests().is_empty(), "what cannot help is not paid for");

    let coming = CompactionRequest::automatic(goal(0.8)).with_coming_bytes(30_000);
    let bench = Bench::new(Script::new(), talk());
    assert!(matches!(bench.fails(coming).await, CompactionError::NotEnough(short) if short.kept > 8_000));

    let bench = Bench::new(Script::new(), [user("u1", &"x".repeat(33_000))]);
    let error = bench.fails(CompactionRequest::automatic(goal(0.8))).await;
    assert!(matches!(error, CompactionError::NotEnough(short) if short.kept > 9_000), "the prompt alone");
}

#[tokio::test]
async fn a_summary_that_saves_nothing_is_not_kept() {
    let long = "A very long summary of very little. ".repeat(20);
    let messages =
        || vec![user("u1", "hi"), assistant("a1", "hi"), user("u2", "well?"), assistant("a2", "well.")];
    let bench = Bench::new(long.as_str(), messages()).window(0);
    let error = bench.fails(CompactionRequest::manual()).await;
    assert!(error.to_string().starts_with("compaction cannot make the conversation smaller"), "{error}");
    assert_eq!(bench.provider.requests().len(), 1);

    let bench = Bench::new(Script::new().reply(long.as_str()).reply(long.as_str()), messages()).window(0);
    let error = bench.fails(CompactionRequest::automatic(None)).await;
    assert!(matches!(error, CompactionError::NotEnough(_)));
    assert_eq!(bench.provider.requests().len(), 2, "it tried once more with everything summarised");
}

#[tokio::test]
async fn a_history_that_becomes_another_one_meanwhile_is_left_alone() {
    let script = || Script::new().reply(Reply::new().gate("half").text("The build was fixed."));
    let bench = Bench::new(script(), talk());
    let clear = async {
        bench.provider.gate("half").reached().await;
        bench.history.lock().unwrap().clear();
        bench.provider.gate("half").open();
    };
    let (outcome, ()) = tokio::join!(bench.compact(CompactionRequest::manual()), clear);
    assert!(matches!(outcome, Err(CompactionError::Changed)));
    assert!(bench.messages().is_empty());

    let bench = Bench::new(script(), talk());
    let add = async {
        bench.provider.gate("half").reached().await;
        bench.history.lock().unwrap().append(user("u3", "One more thing."));
        bench.provider.gate("half").open();
    };
    let (outcome, ()) = tokio::join!(bench.compact(CompactionRequest::manual()), add);
    outcome.unwrap();
    assert_eq!(
        bench.lines()[1..],
        ["user: And the tests?", "assistant: They pass.", "user: One more thing."]
    );
}
