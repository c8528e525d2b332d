//! One turn of a life.

use std::future::pending;
use std::pin::pin;

use robota_core::{FinishReason, ProviderErrorKind, TurnEnd};
use robota_session::{Error, ErrorKind, TurnOutcome};
use robota_testkit::{Gate, Reply};
use serde_json::json;

use super::steps::{At, Call, Cut, End, Hook, Size, TurnPlan};
use super::world::World;

/// How a turn came out of what was done to it.
enum Came {
    Back(Box<Result<TurnOutcome, Error>>),
    Dropped,
    Killed(Cut, Option<(Vec<u8>, Option<Vec<u8>>)>),
}

impl World {
    pub(crate) async fn turn(&mut self, plan: &TurnPlan) {
        let prompt = self.fresh("Prompt ");
        let gate = self.fresh("gate");
        let replies = self.replies(plan, &gate);
        self.model.says(replies);
        self.objects(
            matches!(plan.hook, Hook::BlocksPrompt),
            matches!(plan.hook, Hook::BlocksCompaction),
            matches!(plan.hook, Hook::SendsOn),
        );
        let more = match plan.prompt {
            Size::Short => String::new(),
            Size::Page => "\nMore of it.".repeat(150),
            Size::Large => "\nMuch more of it.".repeat(2_500),
        };
        let came = self.run(plan, prompt.clone() + &more, &gate).await;
        self.model.says([]);
        self.objects(false, false, false);
        // A turn may compact by itself, or by the provider's wish.
        let shortened = std::mem::replace(&mut self.shortened, true);
        match came {
            Came::Back(outcome) => self.came_back(&prompt, *outcome),
            Came::Dropped => self.said.push((u32::MAX, prompt)),
            Came::Killed(cut, copy) => {
                self.shortened = shortened || self.options.context_window != 0;
                self.kill(cut, copy).await;
                self.open().await;
            }
        }
    }

    fn came_back(&mut self, prompt: &str, outcome: Result<TurnOutcome, Error>) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Engine(_)), "{error}");
                error.turn().unwrap().clone()
            }
        };
        let expected = !matches!(outcome.ended, TurnEnd::Blocked | TurnEnd::Failed);
        self.said.push((outcome.turn, prompt.to_owned()));
        self.acknowledge();
        let told = self.session().full_history();
        let joined = told.iter().any(|entry| serde_json::to_string(entry).unwrap().contains(prompt));
        assert!(joined || !expected, "{prompt} is not in the timeline: {outcome:?}");
    }

    async fn run(&mut self, plan: &TurnPlan, prompt: String, gate: &str) -> Came {
        *self.waits.lock().unwrap() = Gate::new(gate);
        let (waits, gate) = (self.waits.lock().unwrap().clone(), self.model.gate(gate));
        let mut running = pin!(self.session().run(prompt));
        let reached = async {
            match plan.end {
                End::Aborted(At::Tool) | End::Dropped(At::Tool) | End::Killed(At::Tool, _) => {
                    waits.reached().await;
                }
                End::Steered | End::Aborted(_) | End::Dropped(_) | End::Killed(..) => gate.reached().await,
                _ => pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut running => return Came::Back(Box::new(outcome)),
            () = reached => {}
        }
        match plan.end {
            End::Dropped(_) => return Came::Dropped,
            End::Killed(_, cut) => return Came::Killed(cut, self.copy().await),
            End::Aborted(_) => self.session().abort(),
            _ => {
                let _ = self.session().inject_input("Also this.");
                gate.open();
            }
        }
        Came::Back(Box::new(running.await))
    }

    fn replies(&mut self, plan: &TurnPlan, gate: &str) -> Vec<Reply> {
        let mut replies = Vec::new();
        let mut first = None;
        for round in &plan.rounds {
            let mut reply = Reply::new();
            for call in round {
                let id = self.fresh("c");
                let again = first.get_or_insert_with(|| id.clone()).clone();
                if matches!(call, Call::Again) && self.options.context_window != 0 {
                    self.repeated.insert(again.clone());
                }
                reply = with_call(reply, *call, &id, &again);
            }
            replies.push(reply);
        }
        let id = self.fresh("c");
        let begun = || match at(plan.end) {
            Some(At::Call) => Reply::new().text("Half a").tool_call(&id, "Look", json!({"n": 1})),
            Some(At::Tool) => {
                let before = Reply::new().tool_call(&id, "Look", json!({}));
                let waiting = before.tool_call(format!("{id}w"), "Wait", json!({}));
                waiting.tool_call(format!("{id}a"), "Act", json!({}))
            }
            _ => Reply::new().text("Half a"),
        };
        replies.push(match plan.end {
            End::Text => Reply::from("Answer."),
            End::Nothing => Reply::new(),
            End::OutputLimit => Reply::from("Not all of").stop(FinishReason::MaxTokens),
            End::Refused => Reply::error(401, "bad key"),
            End::BrokenText => begun().cut(),
            End::BrokenCall => Reply::new().tool_call(&id, "Look", json!({})).cut(),
            End::TooLong => Reply::error(400, "too long").provider_kind(ProviderErrorKind::ContextLength),
            End::Aborted(At::Tool) | End::Dropped(At::Tool) | End::Killed(At::Tool, _) => begun(),
            End::Steered | End::Aborted(_) | End::Dropped(_) | End::Killed(..) => {
                begun().gate(gate).text(" word.")
            }
        });
        replies
    }
}

fn at(end: End) -> Option<At> {
    match end {
        End::Aborted(at) | End::Dropped(at) | End::Killed(at, _) => Some(at),
        _ => None,
    }
}

fn with_call(reply: Reply, call: Call, id: &str, again: &str) -> Reply {
    match call {
        Call::Look => reply.tool_call(id, "Look", json!({"n": 1})),
        Call::Act => reply.tool_call(id, "Act", json!({})),
        Call::Large => reply.tool_call(id, "Large", json!({})),
        Call::Failing => reply.tool_call(id, "Failing", json!({})),
        Call::Forbidden => reply.tool_call(id, "Forbidden", json!({})),
        Call::Unknown => reply.tool_call(id, "Nothing", json!({})),
        Call::Malformed => reply.tool_call(id, "Look", "{\"n\": "),
        Call::Twice => reply.tool_call(id, "Look", json!({"n": 1})).tool_call(id, "Act", json!({"n": 2})),
        Call::Again => reply.tool_call(again, "Act", json!({})),
        Call::Nameless => reply.tool_call("", "Look", json!({})),
    }
}
