//! An abort while the owner of a turn is asked for something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use robota_core::{Error, ErrorKind, Message, Pressure, ProviderErrorKind, Timestamp, TurnEnd, TurnHost};
use robota_testkit::{Reply, Script};
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

/// Aborts the turn while it makes room, or while it is asked whether the model is done.
#[derive(Default)]
struct Aborting {
    cancel: CancellationToken,
    at_pressure: Option<Pressure>,
    at_finish: bool,
    fails: bool,
    input: AtomicBool,
}

fn message(text: &str) -> Message {
    Message::user(text, Timestamp::default(), text)
}

impl TurnHost for Aborting {
    fn take_input(&self) -> Vec<Message> {
        if self.input.swap(false, Ordering::SeqCst) { vec![message("waiting")] } else { Vec::new() }
    }

    fn make_room(&self, pressure: Pressure) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move {
            if self.at_pressure == Some(pressure) {
                self.cancel.cancel();
                if self.fails {
                    return Err(Error::new(ErrorKind::Storage, "disk full"));
                }
            }
            Ok(false)
        })
    }

    fn finished<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Message>> {
        Box::pin(async {
            if !self.at_finish {
                return None;
            }
            self.input.store(true, Ordering::SeqCst);
            self.cancel.cancel();
            Some(message("go on"))
        })
    }
}

fn bench(script: Script, host: Aborting) -> (Bench, Arc<Aborting>) {
    let mut bench = Bench::new(script);
    let host = Arc::new(Aborting { cancel: bench.cancel.clone(), ..host });
    bench.host = host.clone();
    (bench, host)
}

#[tokio::test]
async fn while_a_refused_call_gets_room_it_ends_the_turn_as_interrupted() {
    let refused = Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength);
    let host = Aborting { at_pressure: Some(Pressure::Refused), ..Aborting::default() };
    let (bench, _) = bench(Script::new().reply(refused), host);
    assert_eq!(bench.run("go").await.outcome.unwrap(), TurnEnd::Interrupted);
    assert_eq!(bench.transcript(), ["user: go"]);
}

#[tokio::test]
async fn while_a_full_window_gets_room_it_ends_the_turn_as_interrupted() {
    let host = Aborting { at_pressure: Some(Pressure::Crowded), ..Aborting::default() };
    let (mut bench, _) = bench(Script::new(), host);
    bench.config.context_window = 20;
    bench.config.system = "Be brief, and only ever say what was asked. ".repeat(3).into();
    assert_eq!(bench.run("go").await.outcome.unwrap(), TurnEnd::Interrupted);
    assert_eq!(bench.transcript(), ["user: go"], "nobody is told of a full window");
}

#[tokio::test]
async fn a_failure_to_make_room_is_told_despite_it() {
    let host = Aborting { at_pressure: Some(Pressure::Routine), fails: true, ..Aborting::default() };
    let (bench, _) = bench(Script::new(), host);
    assert_eq!(bench.run("go").await.outcome.unwrap_err().kind(), ErrorKind::Storage);
}

#[tokio::test]
async fn while_the_host_decides_whether_the_model_is_done_what_waits_stays_with_the_host() {
    let host = Aborting { at_finish: true, ..Aborting::default() };
    let (bench, host) = bench(Script::new().reply("Done."), host);
    let report = bench.run("go").await;
    assert_eq!((report.outcome.unwrap(), report.text.as_str()), (TurnEnd::Interrupted, "Done."));
    assert_eq!(bench.transcript(), ["user: go", "assistant: Done."]);
    assert!(host.input.load(Ordering::SeqCst));
}
