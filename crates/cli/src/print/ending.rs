//! How a turn ended: what the last event says, with the reasons that earlier events gave.

use std::collections::BTreeSet;

use robota_core::{Body, Citation, ErrorKind, EventKind, HistoryMutation, Message, TurnAbortReason, TurnEnd};
use serde_json::{Value, json};

use crate::harmless::one_line;

/// The hook event whose hooks can keep a prompt from the model.
const PROMPT_HOOK: &str = "UserPromptSubmit";

/// What is known of the end of a turn before it is there.
#[derive(Default)]
pub(super) struct Ending {
    /// The model's last words.
    text: String,
    /// The sources of the last answer.
    citations: Vec<Citation>,
    /// The answer in the form that was asked for.
    structured: Option<Value>,
    /// The answer has not the form that was asked for.
    misshapen: bool,
    error: Option<(String, Option<u16>)>,
    /// Why a hook did not let the prompt through.
    blocked: Option<String>,
    /// Why a hook ended the turn; the first one counts.
    stopped: Option<String>,
    aborted: TurnAbortReason,
    /// Tools run, rather than the model.
    in_tools: bool,
}

impl Ending {
    /// Takes note of what an event says about the end.
    pub(super) fn note(&mut self, kind: &EventKind) {
        match kind {
            EventKind::HistoryMutation(HistoryMutation::AppendMessage { message, .. }) => {
                if let Message { body: Body::Assistant { content: Some(text), .. }, .. } = &**message {
                    self.text.clone_from(text);
                    self.citations = message.citations();
                }
            }
            EventKind::StructuredOutput { value, .. } => self.structured = Some(value.clone()),
            EventKind::ProviderRequest { .. } => self.in_tools = false,
            EventKind::ProviderResponseNormalized { tool_calls_count, .. } => {
                self.in_tools = *tool_calls_count > 0;
            }
            EventKind::Hook { hook_event_name, blocked, stopped, .. } => {
                if let Some(reason) = blocked.as_ref().filter(|_| hook_event_name == PROMPT_HOOK) {
                    self.blocked = Some(reason.clone());
                }
                self.stopped = self.stopped.take().or_else(|| stopped.clone());
            }
            EventKind::Error { message, status, code, .. } => {
                self.misshapen = code == ErrorKind::StructuredOutput.code();
                self.error = Some((message.clone(), *status));
            }
            EventKind::Interrupted { reason, .. } => self.aborted = *reason,
            _ => {}
        }
    }

    /// What stopped the prompt.
    pub(super) fn blocked(&self) -> String {
        because("a hook did not let the prompt through", self.blocked.as_deref())
    }

    /// What ended the turn.
    pub(super) fn stopped(&self) -> String {
        because("a hook ended the turn", self.stopped.as_deref())
    }

    /// Whether a hook has said that the turn shall end.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Whether an abort was the user's, who knows of it.
    pub(super) fn is_users_wish(&self) -> bool {
        self.aborted == TurnAbortReason::Interrupted
    }

    /// What aborted the turn.
    pub(super) const fn aborted(&self) -> &'static str {
        match self.aborted {
            TurnAbortReason::Replaced => "the turn was aborted: other work took its place",
            TurnAbortReason::Error => "the turn was aborted: something went wrong around it",
            TurnAbortReason::Timeout => "the turn was aborted: it took too long",
            _ => "the turn was interrupted",
        }
    }

    /// The fields of the result frame that say how the turn ended.
    pub(super) fn fields(&self, ended: TurnEnd) -> Vec<(&'static str, Value)> {
        let stopped = |subtype: &str, reason: &str, error: &str| {
            vec![
                ("subtype", json!(subtype)),
                ("is_error", json!(true)),
                ("terminal_reason", json!(reason)),
                ("errors", json!([error])),
            ]
        };
        match ended {
            TurnEnd::MaxRounds => stopped(
                "error_max_turns",
                "max_turns",
                "the turn used all the rounds that --max-turns allows",
            ),
            TurnEnd::Interrupted => {
                let reason = if self.in_tools { "aborted_tools" } else { "aborted_streaming" };
                stopped("error_during_execution", reason, self.aborted())
            }
            TurnEnd::ContextFull => {
                let error = "the context window is nearly full; start a new session";
                stopped("error_during_execution", "prompt_too_long", error)
            }
            TurnEnd::Blocked => stopped("error_during_execution", "hook_stopped", &self.blocked()),
            TurnEnd::Stopped => stopped("error_during_execution", "hook_stopped", &self.stopped()),
            TurnEnd::Failed if self.misshapen => {
                let (message, _) = self.error.clone().unwrap_or_default();
                stopped("error_max_structured_output_retries", "max_structured_output_retries", &message)
            }
            TurnEnd::Failed => {
                let (message, status) = self.error.clone().unwrap_or_default();
                vec![
                    ("is_error", json!(true)),
                    ("result", json!(format!("API Error: {message}"))),
                    ("api_error_status", json!(status)),
                    ("terminal_reason", json!("api_error")),
                ]
            }
            _ => {
                let mut fields = vec![("result", json!(self.text)), ("terminal_reason", json!("completed"))];
                fields.extend(self.structured.clone().map(|value| ("structured_output", value)));
                fields.extend((!self.citations.is_empty()).then(|| ("citations", json!(self.citations))));
                fields
            }
        }
    }

    /// The sources of the last answer, as lines for a person; none for an answer in a form.
    pub(super) fn sources(&self) -> Vec<String> {
        let citations = if self.structured.is_some() { &[] } else { self.citations.as_slice() };
        let mut seen = BTreeSet::new();
        let told = citations.iter().filter_map(|citation| {
            let title = citation.title.as_deref().map(one_line).filter(|title| !title.trim().is_empty());
            let url = citation.url.as_deref().map(one_line);
            seen.insert(url.clone().or_else(|| title.clone())?).then(|| match (title, url) {
                (Some(title), Some(url)) => format!("{title} - {url}"),
                (title, url) => title.or(url).unwrap_or_default(),
            })
        });
        told.collect()
    }
}

/// What happened, with the reason a hook gave for it.
fn because(what: &str, reason: Option<&str>) -> String {
    match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use robota_core::{History, Timestamp};

    use super::*;

    #[test]
    fn each_source_is_one_harmless_line_and_comes_once() {
        let citation = |title: Option<&str>, url: Option<&str>| Citation {
            title: title.map(str::to_owned),
            url: url.map(str::to_owned),
            text: Some("cited".to_owned()),
        };
        let mut ending = Ending {
            citations: vec![
                citation(Some("Bolts\u{1b}[2J of\nthe world"), Some("https://a.example")),
                citation(None, Some("https://b.example")),
                citation(Some("Again"), Some("https://a.example")),
                citation(Some("A book"), None),
                citation(None, None),
            ],
            ..Ending::default()
        };
        let expected = ["Bolts [2J of the world - https://a.example", "https://b.example", "A book"];
        assert_eq!(ending.sources(), expected);
        ending.structured = Some(json!({}));
        assert_eq!(ending.sources(), [""; 0]);
    }

    #[test]
    fn a_value_and_the_sources_of_the_last_answer_stand_among_the_fields() {
        let mut history = History::default();
        let mut say = |ending: &mut Ending, text: &str, urls: &[&str]| {
            let mut message = Message::assistant(text, Timestamp::default(), text);
            let citations = urls.iter().map(|url| json!({"url": url})).collect();
            message.metadata.insert("citations".into(), citations);
            ending.note(&EventKind::HistoryMutation(history.append(message)));
        };
        let mut ending = Ending::default();
        say(&mut ending, "I look.", &["https://old.example"]);
        say(&mut ending, "Found.", &["https://a.example"]);
        ending.note(&EventKind::StructuredOutput { value: json!({"n": 1}), native: true, repairs: 0 });
        let expected = [
            ("result", json!("Found.")),
            ("terminal_reason", json!("completed")),
            ("structured_output", json!({"n": 1})),
            ("citations", json!([{"url": "https://a.example"}])),
        ];
        assert_eq!(ending.fields(TurnEnd::Completed), expected);
        let mut plain = Ending::default();
        say(&mut plain, "I look.", &["https://old.example"]);
        say(&mut plain, "Nothing.", &[]);
        assert_eq!(plain.fields(TurnEnd::Completed).len(), 2);
    }
}
