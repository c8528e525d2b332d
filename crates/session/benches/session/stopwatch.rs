//! A model that answers at once and takes the times between its answers and the next requests.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use robota_core::{
    Capabilities, FinishReason, ModelEvent, ModelRequest, ModelStream, Provider, ProviderInfo,
};
use tokio_util::sync::CancellationToken;

/// Calls the tool `Note` for a number of rounds in each turn, then says that it is done.
pub(crate) struct Stopwatch {
    info: ProviderInfo,
    times: Arc<Mutex<Times>>,
}

#[derive(Default)]
struct Times {
    rounds_left: usize,
    rounds_each_turn: usize,
    first_request: Option<Instant>,
    answered: Option<Instant>,
    gaps: Vec<Duration>,
}

impl Stopwatch {
    /// A model that asks for `rounds` tool calls in each turn.
    pub(crate) fn new(rounds: usize) -> Arc<Self> {
        let times = Times { rounds_left: rounds, rounds_each_turn: rounds, ..Times::default() };
        let info = ProviderInfo::new(
            "stopwatch",
            Capabilities { tools: true, images: false, thinking: false, ..Capabilities::default() },
        );
        Arc::new(Self { info, times: Arc::new(Mutex::new(times)) })
    }

    /// When the first request came.
    pub(crate) fn first_request(&self) -> Instant {
        self.times.lock().unwrap().first_request.unwrap()
    }

    /// The times between the end of an answer and the next request, in their order.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        std::mem::take(&mut self.times.lock().unwrap().gaps)
    }
}

impl Provider for Stopwatch {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
        let now = Instant::now();
        let mut times = self.times.lock().unwrap();
        times.first_request.get_or_insert(now);
        if let Some(answered) = times.answered.take() {
            times.gaps.push(now.duration_since(answered));
        }
        let events = match times.rounds_left.checked_sub(1) {
            Some(left) => {
                times.rounds_left = left;
                let (id, name) = (format!("round_{left}"), "Note".to_owned());
                vec![
                    ModelEvent::ToolCallStart { index: 0, id, name },
                    ModelEvent::ToolCallArguments { index: 0, delta: r#"{"word":"small"}"#.to_owned() },
                    ModelEvent::ToolCallEnd { index: 0 },
                    ModelEvent::Finish(FinishReason::ToolUse),
                ]
            }
            None => {
                times.rounds_left = times.rounds_each_turn;
                vec![ModelEvent::TextDelta("Done.".to_owned()), ModelEvent::Finish(FinishReason::EndTurn)]
            }
        };
        let times = Arc::clone(&self.times);
        let noting = move |event| {
            if matches!(event, ModelEvent::Finish(_)) {
                times.lock().unwrap().answered = Some(Instant::now());
            }
            Ok(event)
        };
        stream::iter(events).map(noting).boxed()
    }
}
