//! Whether model calls have their answers and tool calls their results.

use std::collections::BTreeMap;

use robota_core::{Event, EventKind, HistoryMutation, PayloadKind, RawCapture, RequestPurpose};

use super::issue::Issues;
use super::{ReplayIssue, ReplayIssueCode};
use crate::replay::recording::went_to_its_end;

/// What is open, event by event.
#[derive(Default)]
pub(super) struct Calls {
    /// The session asks providers for what they say in their own words.
    raw_capture: bool,
    /// The turn that has begun and not ended.
    turn: Option<u32>,
    /// The last round that was answered.
    round: Option<u32>,
    request: Option<OpenRequest>,
    /// The part of a compaction that is being summarised.
    part: Option<OpenPart>,
    /// The messages were replaced since the last request.
    replaced: bool,
    /// The answer whose message is yet to come.
    answer: Option<Open>,
    tools: BTreeMap<String, Open>,
}

/// Something that waits for its other half.
struct Open {
    index: usize,
    execution_id: Option<String>,
    round: Option<u32>,
    /// Id of the message or name of the tool.
    what: String,
}

struct OpenPart {
    open: Open,
    /// A native payload of the answer was there.
    native: bool,
}

struct OpenRequest {
    open: Open,
    last_words: bool,
    /// A native payload of the answer was there.
    native: bool,
    /// The answer has text.
    text: bool,
}

/// The id of the turn that `event` belongs to.
pub(super) fn execution_id(event: &Event) -> Option<String> {
    (event.turn > 0).then(|| format!("{}:{}", event.session_id, event.turn))
}

impl Open {
    fn new(index: usize, event: &Event, round: Option<u32>, what: &str) -> Self {
        Self { index, execution_id: execution_id(event), round, what: what.to_owned() }
    }

    fn issue(self, code: ReplayIssueCode, message: impl Into<String>) -> ReplayIssue {
        let mut issue = ReplayIssue::new(code, self.index, message);
        (issue.execution_id, issue.round) = (self.execution_id, self.round);
        issue
    }
}

impl Calls {
    /// Takes the next event and says what it shows to be missing.
    pub(super) fn take(&mut self, index: usize, event: &Event, issues: &mut Issues) {
        if event.turn > 0 && self.turn.is_some_and(|turn| turn != event.turn) {
            // The line that ends the turn is lost.
            self.end(false, issues);
        }
        match &event.kind {
            EventKind::SessionInit { raw_capture, .. } | EventKind::SessionResume { raw_capture, .. } => {
                // Whatever was open ended with the process.
                *self = Self { raw_capture: *raw_capture != RawCapture::Off, ..Self::default() };
            }
            EventKind::Complete { ended, .. } => {
                self.end(!went_to_its_end(*ended), issues);
                return;
            }
            EventKind::ProviderRequest { .. } => self.requested(index, event, issues),
            EventKind::ProviderNativeRawPayload { round, payload_kind, .. } => {
                self.native(*round, *payload_kind);
            }
            EventKind::TextDelta { delta } => self.text(!delta.is_empty()),
            EventKind::ProviderRetry { .. } | EventKind::ProviderFallback { .. } => {
                if let Some(request) = &mut self.request {
                    request.text = false;
                }
            }
            EventKind::ProviderResponseNormalized { .. } => self.answered(index, event, issues),
            EventKind::CompactSummary { part, .. } => self.summarised(index, event, *part, issues),
            EventKind::HistoryMutation(mutation) => self.changed(mutation),
            EventKind::ToolExecutionRequest { tool_call_id, tool_name, .. } => {
                self.tools.insert(tool_call_id.clone(), Open::new(index, event, self.round, tool_name));
            }
            EventKind::ToolExecutionResult { tool_call_id, tool_name, .. }
                if self.tools.remove(tool_call_id).is_none() =>
            {
                let message = format!("a result of {tool_name}, and nothing says that it was called");
                let open = Open::new(index, event, self.round, "");
                let mut issue = open.issue(ReplayIssueCode::ToolRequestMissing, message);
                issue.tool_call_id = Some(tool_call_id.clone());
                issues.push(issue);
            }
            _ => {}
        }
        if event.turn > 0 {
            self.turn = Some(event.turn);
        }
    }

    fn requested(&mut self, index: usize, event: &Event, issues: &mut Issues) {
        let EventKind::ProviderRequest { round, last_words, purpose, .. } = &event.kind else { return };
        if *purpose == RequestPurpose::Compaction {
            let open = Open::new(index, event, Some(*round), "");
            self.part = Some(OpenPart { open, native: false });
            return;
        }
        // A request that the provider refused for its length is made again on another history.
        let excused = self.replaced;
        self.close_request(excused, issues);
        self.close_answer(issues);
        self.close_tools(issues);
        (self.part, self.replaced) = (None, false);
        let open = Open::new(index, event, Some(*round), "");
        self.request = Some(OpenRequest { open, last_words: *last_words, native: false, text: false });
    }

    fn answered(&mut self, index: usize, event: &Event, issues: &mut Issues) {
        let EventKind::ProviderResponseNormalized { round, message_id, tool_calls_count, .. } = &event.kind
        else {
            return;
        };
        self.round = Some(*round);
        let open = Open::new(index, event, self.round, message_id);
        let asked = self.request.take_if(|request| request.open.round == Some(*round));
        let Some(request) = asked else {
            let message = format!("the answer of round {round} has no request");
            issues.push(open.issue(ReplayIssueCode::ProviderRequestMissing, message));
            return;
        };
        if request.text || *tool_calls_count > 0 {
            self.answer = Some(open);
        }
        if self.raw_capture && !request.native {
            no_native_payload(request.open, issues);
        }
    }

    fn native(&mut self, round: u32, kind: PayloadKind) {
        let (open, native) = match (&mut self.part, &mut self.request) {
            (Some(part), _) => (&part.open, &mut part.native),
            (None, Some(request)) => (&request.open, &mut request.native),
            (None, None) => return,
        };
        let answers = matches!(kind, PayloadKind::Response | PayloadKind::StreamEvent);
        *native |= answers && open.round == Some(round);
    }

    fn summarised(&mut self, index: usize, event: &Event, part: u32, issues: &mut Issues) {
        match self.part.take().filter(|asked| asked.open.round == Some(part)) {
            None => {
                let message = format!("part {part} was summarised, and no request asks for it");
                let open = Open::new(index, event, Some(part), "");
                issues.push(open.issue(ReplayIssueCode::ProviderRequestMissing, message));
            }
            Some(asked) if self.raw_capture && !asked.native => no_native_payload(asked.open, issues),
            Some(_) => {}
        }
    }

    fn text(&mut self, some: bool) {
        if let Some(request) = self.request.as_mut().filter(|_| self.part.is_none()) {
            request.text |= some;
        }
    }

    fn changed(&mut self, mutation: &HistoryMutation) {
        match mutation {
            HistoryMutation::AppendMessage { message, .. } => {
                self.answer.take_if(|answer| answer.what == message.id);
            }
            HistoryMutation::Replace { .. } => self.replaced = true,
            _ => {}
        }
    }

    /// The turn is over; `cut_off` says that it did not go to its end.
    fn end(&mut self, cut_off: bool, issues: &mut Issues) {
        // The failure of a call for last words changes nothing about how a turn ends.
        let excused = cut_off || self.request.as_ref().is_some_and(|request| request.last_words);
        self.close_request(excused, issues);
        self.close_answer(issues);
        if cut_off {
            self.tools.clear();
        }
        self.close_tools(issues);
        (self.turn, self.round, self.part, self.replaced) = (None, None, None, false);
    }

    fn close_request(&mut self, excused: bool, issues: &mut Issues) {
        let Some(request) = self.request.take().filter(|_| !excused) else { return };
        let Open { index, execution_id, round, .. } = request.open;
        let open = || Open { index, execution_id: execution_id.clone(), round, what: String::new() };
        if self.raw_capture && !request.native {
            no_native_payload(open(), issues);
        }
        let message = "the request has no answer, and the turn went on";
        issues.push(open().issue(ReplayIssueCode::ProviderResponseRawMissing, message));
        issues.push(open().issue(ReplayIssueCode::ProviderResponseNormalizedMissing, message));
    }

    fn close_answer(&mut self, issues: &mut Issues) {
        if let Some(answer) = self.answer.take() {
            let message = format!("the message {}, which the answer became, is not in the log", answer.what);
            issues.push(answer.issue(ReplayIssueCode::ProviderResponseRawMissing, message));
        }
    }

    fn close_tools(&mut self, issues: &mut Issues) {
        for (call_id, open) in std::mem::take(&mut self.tools) {
            let message = format!("the call to {} has no result, and the turn went on", open.what);
            let mut issue = open.issue(ReplayIssueCode::ToolResultMissing, message);
            issue.tool_call_id = Some(call_id);
            issues.push(issue);
        }
    }
}

fn no_native_payload(open: Open, issues: &mut Issues) {
    let message = "nothing of what the provider sent for this request is recorded, though it should be";
    issues.push(open.issue(ReplayIssueCode::ProviderNativeRawPayloadMissing, message));
}
