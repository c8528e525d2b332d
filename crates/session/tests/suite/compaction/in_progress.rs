//! Compacting in the middle of the work on a request, and random histories.

use super::*;

#[tokio::test]
async fn a_request_in_progress_goes_on_behind_the_summary() {
    let mut messages = vec![user("u1", "Read everything.")];
    for at in 0..6 {
        messages.extend([call(&format!("a{at}"), "{}"), result(&format!("a{at}"), &"r".repeat(5_000))]);
    }
    let bench = Bench::new("Read five files.", messages);
    let outcome = bench.compact(CompactionRequest::automatic(goal(0.835))).await.unwrap();
    let after = bench.messages();
    let ids: Vec<&str> = after.iter().skip(1).map(|message| message.id.as_str()).collect();
    assert_eq!(ids, ["u1", "a5", "result-a5"]);
    assert!(after[0].text().ends_with("Go on from there.]"), "{}", after[0].text());
    assert_eq!(outcome.summarized_messages, 10);
    assert!(outcome.after.used_percentage < 83.5);

    let mut sent = sendable(&after);
    assert_eq!(sent.remove(0).role(), "user");
    assert_eq!(sent, after);
    assert_eq!(&*Agent::new(bench.config.clone()).request(sent, ToolChoice::Auto).system, "You are a test.");
}

#[tokio::test]
async fn one_giant_exchange_becomes_its_prompt_and_a_summary() {
    let messages = [user("u1", "Read it."), call("a1", "{}"), result("a1", &"r".repeat(40_000))];
    let bench = Bench::new("It is full of r.", messages.clone());
    bench.compact(CompactionRequest::automatic(None)).await.unwrap();
    assert_eq!(bench.lines()[1..], ["user: Read it."]);
    assert!(bench.lines()[0].starts_with("assistant: [Context Summary]\nIt is full of r."));

    bench.provider.enqueue("More of it.");
    for message in [call("a2", "{}"), result("a2", &"s".repeat(40_000))] {
        bench.history.lock().unwrap().append(message);
    }
    bench.compact(CompactionRequest::automatic(None)).await.unwrap();
    assert!(bench.asked()[1].contains("\nsummary of what came before: It is full of r.\nuser: Read it.\n"));
    assert_eq!(bench.lines()[1..], ["user: Read it."]);
}

/// Compacts from half of the window on, between the rounds of a turn.
struct Host<'a> {
    compactor: Compactor<'a>,
    compactions: AtomicU32,
}

impl TurnHost for Host<'_> {
    fn make_room(&self, _: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async {
            let state = self.compactor.agent.context_state(&self.compactor.history.lock().unwrap());
            if state.used_percentage < 50.0 {
                return Ok(false);
            }
            self.compactor.compact(CompactionRequest::automatic(goal(0.5))).await?;
            self.compactions.fetch_add(1, Ordering::Relaxed);
            Ok(true)
        })
    }
}

#[tokio::test]
async fn a_turn_larger_than_the_window_comes_to_its_end() {
    let calls = AtomicU32::new(0);
    let script = Script::new().respond_with(move |request| {
        if request.system_text().starts_with("You summarise") {
            return Reply::new()
                .text(format!("Read {} of 30.", calls.load(Ordering::Relaxed)))
                .without_usage();
        }
        let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
        assert_eq!(request.last_user_text(), "Read all 30.");
        if number > 30 {
            return Reply::new().text("All read.").without_usage();
        }
        Reply::new().tool_call(format!("c{number}"), "Look", json!({"n": number})).without_usage()
    });
    let mut bench = Bench::new(script, []);
    let look =
        |_| -> BoxFuture<'static, _> { Box::pin(async { Ok(ToolOutcome::success("l".repeat(3_000))) }) };
    bench.config.tools = vec![TestTool::parallel("Look", look).0];
    let agent = Agent::new(bench.config.clone());
    let recorder = Arc::new(EventRecorder::new());
    let sink: Arc<dyn EventSink> = recorder.clone();
    let (history, cancel) = (&bench.history, &bench.cancel);
    let compactor = Compactor { agent: &agent, history, sink: sink.as_ref(), hooks: None, cancel };
    let host = Host { compactor, compactions: AtomicU32::new(0) };
    let prompt = user("u", "Read all 30.");
    let (sink, gate, host_of) = (&sink, &AllowAll, &host);
    let turn = Turn { history, prompt, response_format: None, sink, gate, cancel, host: host_of };
    let report = agent.run_turn(turn).await;
    assert_eq!(report.outcome.unwrap(), TurnEnd::Completed);
    assert_eq!((report.text.as_str(), report.rounds), ("All read.", 31));
    bench.provider.assert_clean();
    let compactions = host.compactions.load(Ordering::Relaxed);
    assert!((4..12).contains(&compactions), "{compactions}");
    assert_eq!(recorder.count("context_compact"), compactions as usize);
    assert_eq!(bench.messages()[1].id, "u");
}

fn piece(at: usize, kind: u8, size: usize) -> Vec<Message> {
    let id = format!("m{at}");
    match kind {
        0 | 1 => vec![user(&id, &"u".repeat(size))],
        2 | 3 => vec![assistant(&id, &"a".repeat(size))],
        4 => vec![Message::system(id, Timestamp::default(), "A rule.")],
        5 => vec![call(&id, "{}")],
        6 => vec![result(&id, "stray")],
        _ => vec![call(&id, "{}"), result(&id, &"r".repeat(size * 2))],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn after_a_compaction_the_history_is_smaller_and_sendable(
        shape in prop::collection::vec((0u8..10, 1_usize..4_000), 0..30), automatic: bool
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let messages = shape.iter().enumerate().flat_map(|(at, (kind, size))| piece(at, *kind, *size));
        let bench = Bench::new(Script::new().respond_with(|_| "Things were done.".into()), messages);
        let request =
            if automatic { CompactionRequest::automatic(goal(0.6)) } else { CompactionRequest::manual() };
        let (before, bytes) = {
            let history = bench.history.lock().unwrap();
            (history.reference(), history.message_bytes())
        };
        let outcome = runtime.block_on(bench.compact(request));
        bench.provider.assert_clean();
        let history = bench.history.lock().unwrap();
        let Ok(outcome) = outcome else {
            prop_assert_eq!(history.reference(), before);
            return Ok(());
        };
        prop_assert!(history.message_bytes() < bytes);
        prop_assert!(!automatic || outcome.after.used_percentage < 60.0);
        let sent = sendable(history.messages());
        let mut spoken = sent.iter().filter(|message| message.role() != "system");
        prop_assert_eq!(spoken.next().unwrap().role(), "user");
        prop_assert_eq!(spoken.next().unwrap().text(), history.messages()[0].text());
        prop_assert!(spoken.next().is_none_or(|message| message.role() == "user"));
        let mut open: Vec<&str> = Vec::new();
        for message in &sent {
            match message.answers() {
                Some(call) => prop_assert_eq!(open.remove(0), call),
                None => {
                    prop_assert!(open.is_empty());
                    open = message.tool_calls().iter().map(|call| call.id.as_str()).collect();
                }
            }
        }
        prop_assert!(open.is_empty());
    }
}
