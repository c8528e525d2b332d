//! `robota session show`.

use robota_core::{
    Body, CompactTrigger, Event, EventKind, HistoryMutation, HookDecision, Message, MessageState, Part,
    PermissionResolution, ToolCall, TurnAbortReason,
};
use robota_session::SessionStore;

use super::{Shelf, count, json_of, written};
use crate::exit::{Exit, Failure};
use crate::harmless::one_line as plain;
use crate::print::parts::part_label;
use crate::print::text::first_argument;
use crate::session_args::Query;
use crate::stdout::Output;

/// Most lines of one tool result in a transcript.
const RESULT_LINES: usize = 6;

pub(super) fn run(shelf: &Shelf, session: &Query, json: bool) -> Result<Exit, Failure> {
    let id = shelf.find(session)?.id;
    let mut output = Output::new();
    if !json && !shelf.has_log(&id)? {
        let stored = shelf.wait(shelf.store.load(&id))?;
        output.line(&format!("session {id}  {}", stored.created_at));
        output.line(&format!(
            "  in {} (there is no log, only a snapshot)",
            plain(&stored.cwd.to_string_lossy())
        ));
        let lines = stored.history.messages().iter().flat_map(|message| lines_of(message));
        lines.for_each(|line| output.line(&line));
        return written(output);
    }
    let mut events = shelf.events(&id)?;
    let mut transcript = Transcript::default();
    for event in events.by_ref() {
        if json {
            output.line(&json_of(&event)?);
        } else {
            transcript.take(&event).iter().for_each(|line| output.line(line));
        }
        if output.is_over() {
            break;
        }
    }
    transcript.replaced.iter().for_each(|line| output.line(line));
    events.finish(shelf, &id)?;
    written(output)
}

/// What a person sees of a log, event by event.
#[derive(Default)]
struct Transcript {
    /// A replaced history waits for what comes next: a compaction says more about it.
    replaced: Option<String>,
}

impl Transcript {
    fn take(&mut self, event: &Event) -> Vec<String> {
        let mut lines = Vec::new();
        match &event.kind {
            EventKind::ContextCompact { .. } => self.replaced = None,
            _ => lines.extend(self.replaced.take()),
        }
        if let EventKind::HistoryMutation(HistoryMutation::Replace { messages }) = &event.kind {
            self.replaced = Some(format!("(the history was replaced by {})", messages_of(messages.len())));
        } else {
            lines.append(&mut lines_of_event(event));
        }
        lines
    }
}

fn lines_of_event(event: &Event) -> Vec<String> {
    match &event.kind {
        EventKind::SessionInit { provider, model, cwd, forked_from, .. } => {
            let mut lines = vec![format!("session {}  {}", event.session_id, event.timestamp)];
            // Whoever copied it needed no model.
            let by = if model == "unknown" { String::new() } else { format!("{model} ({provider}) ") };
            lines.push(format!("  {}in {}", plain(&by), plain(&cwd.to_string_lossy())));
            lines.extend(forked_from.iter().map(|id| format!("  copy of session {id}")));
            lines
        }
        EventKind::SessionResume { provider, model, .. } => {
            vec![format!("-- opened again {}: {} ({})", event.timestamp, plain(model), plain(provider))]
        }
        EventKind::SessionName { name: Some(name) } => {
            vec![format!("(the session is called `{}`)", plain(name))]
        }
        EventKind::SessionName { name: None } => vec!["(the session has no name any more)".to_owned()],
        EventKind::User { steering: true, .. } => vec!["(said while the turn was running)".to_owned()],
        EventKind::HistoryMutation(mutation) => lines_of_mutation(mutation),
        EventKind::PermissionRequest { tool_name, parameters, reason, .. } => {
            vec![format!(
                "  may it run? {} {}: {}",
                plain(tool_name),
                first_argument(parameters),
                plain(reason)
            )]
        }
        EventKind::PermissionResolved { resolution, note, .. } => {
            let note = note.iter().map(|note| format!("  rule {}", plain(note)));
            std::iter::once(format!("  {}", answer(*resolution))).chain(note).collect()
        }
        EventKind::PermissionDenied { reason, .. } => vec![format!("  not allowed: {}", plain(reason))],
        EventKind::ServerTool { tool, query } => {
            vec![format!("● {} {} (run by the provider)", plain(tool), plain(query))]
        }
        EventKind::StructuredOutput { repairs, .. } => vec![fits(*repairs)],
        EventKind::ProviderRetry { reason, attempt, .. } => {
            vec![format!("  … {}; attempt {attempt}", plain(reason))]
        }
        EventKind::ProviderFallback { provider, model, reason, .. } => {
            vec![format!("  … {}; {} ({}) is asked instead", plain(reason), plain(model), plain(provider))]
        }
        EventKind::Hook { .. } => lines_of_hook(&event.kind),
        EventKind::ContextCompact { trigger, before, after, summarized_messages, kept_messages, .. } => {
            let asked = if *trigger == CompactTrigger::Manual { ", as it was asked for" } else { "" };
            let (before, after) = (before.used_percentage, after.used_percentage);
            vec![format!(
                "(compacted{asked}: {} became a summary, {kept_messages} stayed; the window was {before:.0} % full and is {after:.0} %)",
                messages_of(*summarized_messages)
            )]
        }
        EventKind::Interrupted { reason, .. } => vec![format!("(the turn was {})", abort(*reason))],
        EventKind::Error { code, message, .. } => vec![format!("error {}: {}", plain(code), plain(message))],
        EventKind::Complete { .. } => ending(&event.kind),
        EventKind::SessionShutdownStepError { step, error } => {
            vec![format!("error while the session was closed: {}: {}", plain(step), plain(error))]
        }
        _ => Vec::new(),
    }
}

fn fits(repairs: u32) -> String {
    let after = match repairs {
        0 => String::new(),
        repairs => format!(", after {}", count(repairs as usize, "repair", "repairs")),
    };
    format!("(the answer fits the schema{after})")
}

fn messages_of(number: usize) -> String {
    count(number, "message", "messages")
}

fn ending(kind: &EventKind) -> Vec<String> {
    let EventKind::Complete { ended, rounds, usage, duration_ms, .. } = kind else { return Vec::new() };
    let ended = serde_json::to_value(ended).unwrap_or_default();
    let (input, output) = (usage.total_input(), usage.output_tokens);
    let seconds = *duration_ms as f64 / 1000.0;
    let ended = ended.as_str().unwrap_or_default();
    let rounds = count(*rounds as usize, "round", "rounds");
    vec![format!("-- {ended}: {rounds}, {input} tokens in, {output} out, {seconds:.1} s")]
}

fn lines_of_mutation(mutation: &HistoryMutation) -> Vec<String> {
    match mutation {
        HistoryMutation::AppendMessage { message, .. } => lines_of(message),
        HistoryMutation::AppendEntry { .. } => Vec::new(),
        HistoryMutation::Clear => vec!["(the history was cleared)".to_owned()],
        HistoryMutation::Truncate { length } => {
            vec![format!("(gone back to the first {})", messages_of(*length))]
        }
        _ => vec!["(the history was changed)".to_owned()],
    }
}

fn lines_of_hook(kind: &EventKind) -> Vec<String> {
    let EventKind::Hook {
        hook_event_name,
        blocked,
        stopped,
        permission,
        updated_input,
        failures,
        additional_context,
        system_messages,
    } = kind
    else {
        return Vec::new();
    };
    let name = plain(hook_event_name);
    let tell = |text: String| format!("  hook {name} {text}");
    let mut lines: Vec<String> =
        system_messages.iter().map(|text| format!("  hook {name}: {}", plain(text))).collect();
    lines.extend(permission.as_ref().map(|said| {
        let why = said.reason.as_deref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
        tell(format!("{}{why}", decision(said.decision)))
    }));
    lines.extend(blocked.as_ref().map(|reason| tell(format!("did not allow it: {}", plain(reason)))));
    lines.extend(stopped.as_ref().map(|reason| tell(format!("ended the turn: {}", plain(reason)))));
    let changed = updated_input.as_ref();
    lines.extend(changed.map(|input| tell(format!("changed the arguments: {}", first_argument(input)))));
    lines.extend((!additional_context.is_empty()).then(|| tell("added text for the model".to_owned())));
    lines.extend(failures.iter().map(|why| tell(format!("failed: {}", plain(why)))));
    lines
}

const fn decision(decision: HookDecision) -> &'static str {
    match decision {
        HookDecision::Allow => "said yes",
        HookDecision::Ask => "wanted a person to agree",
        HookDecision::Defer => "left it to a person",
        HookDecision::Deny => "said no",
    }
}

const fn answer(resolution: PermissionResolution) -> &'static str {
    match resolution {
        PermissionResolution::Allowed => "yes",
        PermissionResolution::AllowedForSession => "yes, for the rest of the session",
        PermissionResolution::AllowedForProject => "yes, always in this project",
        PermissionResolution::Denied => "no",
        _ => "no answer: the turn was aborted",
    }
}

const fn abort(reason: TurnAbortReason) -> &'static str {
    match reason {
        TurnAbortReason::Interrupted => "interrupted",
        TurnAbortReason::Replaced => "replaced by other work",
        TurnAbortReason::Timeout => "ended because it took too long",
        _ => "ended because something went wrong around it",
    }
}

fn lines_of(message: &Message) -> Vec<String> {
    match &message.body {
        Body::User { content, parts, .. } => {
            let mut lines = marked("> ", content, usize::MAX);
            lines.extend(attachments("> ", parts));
            lines
        }
        Body::System { content } => marked("# ", content, RESULT_LINES),
        Body::Assistant { content, tool_calls, parts, .. } => {
            let mut lines = marked("", content.as_deref().unwrap_or_default(), usize::MAX);
            if message.state == MessageState::Interrupted {
                lines.push("(interrupted)".to_owned());
            }
            lines.extend(tool_calls.iter().map(call_line));
            if lines.is_empty() && !parts.is_empty() {
                lines.push("(what the provider did by itself)".to_owned());
            }
            lines
        }
        Body::Tool { content, parts, .. } => {
            let mut lines = marked("  | ", content, RESULT_LINES);
            lines.extend(attachments("  | ", parts));
            lines
        }
    }
}

/// A line for each image and document. Text beside what was said is not the speaker's.
fn attachments(mark: &str, parts: &[Part]) -> impl Iterator<Item = String> {
    let shown = parts.iter().filter(|part| !matches!(part, Part::Text { .. }));
    shown.filter_map(part_label).map(move |label| format!("{mark}{label}"))
}

fn call_line(call: &ToolCall) -> String {
    format!("● {} {}", call.name, first_argument(&call.parameters()))
}

/// The lines of a text behind a mark; the rest is counted.
fn marked(mark: &str, text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().take(most).map(|line| format!("{mark}{}", plain(&line.replace('\t', "    ")))).collect();
    let rest = text.lines().count().saturating_sub(most);
    if rest > 0 {
        lines.push(format!("{mark}… {}", count(rest, "more line", "more lines")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use robota_core::HookOutcome;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_hooks_did_is_told_line_by_line() {
        let mut outcome = HookOutcome::decided(HookDecision::Ask, "who\nknows");
        outcome.updated_input = Some(json!({"command": "make check"}));
        outcome.stop = Some("enough".into());
        outcome.block = Some("not now".into());
        outcome.additional_context = vec!["for the model".into()];
        outcome.system_messages = vec!["for you".into()];
        outcome.failures = vec!["`fmt` was not found".into()];
        let expected = [
            "  hook PreToolUse: for you",
            "  hook PreToolUse wanted a person to agree: who knows",
            "  hook PreToolUse did not allow it: not now",
            "  hook PreToolUse ended the turn: enough",
            "  hook PreToolUse changed the arguments: make check",
            "  hook PreToolUse added text for the model",
            "  hook PreToolUse failed: `fmt` was not found",
        ];
        assert_eq!(lines_of_hook(&EventKind::of_hooks("PreToolUse", &outcome)), expected);
    }
}
