//! One turn as its reader wants it: text, one JSON object, or a line for each frame.

use robota_core::{Ambient, Event, EventKind, TurnEnd};
use robota_session::Session;
use serde_json::Value;

use super::frames::{Frames, SessionFacts, startup_failure};
use super::text::TextView;
use crate::args::{OutputFormat, RunArgs};
use crate::compose::Composition;
use crate::exit::Failure;
use crate::host;
use crate::stdout::{Output, complain};

/// Shows a turn in the chosen format.
pub(crate) enum View {
    /// For people.
    Text(Box<TextView>),
    /// For programs.
    Frames(Box<FrameView>),
}

/// Frames on standard output.
pub(crate) struct FrameView {
    frames: Frames,
    output: Output,
    /// Every frame, or the result alone.
    all: bool,
    result_written: bool,
}

impl View {
    /// The view that `args` ask for; writes what comes before the first event.
    pub(crate) fn new(args: &RunArgs, composition: &Composition, session: &Session) -> Self {
        if !args.output_format.is_json() {
            return Self::Text(Box::new(TextView::new(args.verbose, host::no_color())));
        }
        let options = &composition.assembly.options;
        let facts = SessionFacts {
            session_id: session.session_id(),
            cwd: session.cwd(),
            model: &composition.model.model,
            tools: options.tools.iter().map(|tool| tool.spec().name.clone()).collect(),
            permission_mode: session.permission_mode().as_str(),
            api_key_source: if composition.model.credential.is_some() { "user" } else { "none" },
        };
        let frames = Frames::new(&facts, composition.model_info.clone(), options.ambient.clone());
        let all = args.output_format == OutputFormat::StreamJson;
        let mut view = FrameView { frames, output: Output::new(), all, result_written: false };
        if all {
            let init = view.frames.init(&facts);
            view.output.line(&init.to_string());
        }
        Self::Frames(Box::new(view))
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &Event) {
        match self {
            Self::Text(view) => {
                view.show(event);
                note_early_end(&event.kind);
            }
            Self::Frames(view) => {
                for frame in view.frames.of(event) {
                    view.write(&frame);
                }
            }
        }
    }

    /// Says that Ctrl-C was heard.
    pub(crate) fn interrupting(&self) {
        if let Self::Text(_) = self {
            complain("interrupting … press Ctrl-C again to quit at once");
        }
    }

    /// Shows what comes after the last event of a turn.
    pub(crate) fn finish(&mut self) {
        if let Self::Text(view) = self {
            view.finish();
        }
    }

    /// Shows why the turn failed.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        match self {
            Self::Text(view) => {
                view.finish();
                complain(&failure.render());
            }
            // A failure of the model has its result frame already.
            Self::Frames(view) if view.result_written => {}
            Self::Frames(view) => {
                let frame =
                    startup_failure(&failure.message, view.frames.session_id(), view.frames.ambient());
                view.write(&frame);
            }
        }
    }
}

impl FrameView {
    fn write(&mut self, frame: &Value) {
        let is_result = frame.get("type").and_then(Value::as_str) == Some("result");
        if self.all || is_result {
            self.output.line(&frame.to_string());
        }
        self.result_written |= is_result;
    }
}

/// Why an answer is not the model's last word, where text alone would not show it.
fn note_early_end(kind: &EventKind) {
    let EventKind::Complete { ended, .. } = kind else { return };
    match ended {
        TurnEnd::MaxRounds => complain("\nnote: stopped after the rounds that --max-turns allows"),
        TurnEnd::ContextFull => complain("\nnote: the context window is nearly full"),
        TurnEnd::OutputLimit => complain("\nnote: the answer reached the model's output limit and is cut"),
        TurnEnd::Refused => complain("\nnote: the model declined to go on"),
        _ => {}
    }
}

/// Shows why there is no session.
pub(crate) fn report(failure: &Failure, format: OutputFormat) {
    if format.is_json() {
        let frame = startup_failure(&failure.render(), "", &Ambient::default());
        Output::new().line(&frame.to_string());
    } else {
        complain(&failure.render());
    }
}
