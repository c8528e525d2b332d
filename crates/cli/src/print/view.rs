//! One turn as its reader wants it: text, one JSON object, or a line for each frame.

use std::io;

use robota_core::{Ambient, Event, EventKind};
use robota_session::Session;
use serde_json::Value;

use super::frames::{Frames, SessionFacts, startup_failure};
use super::spending::Spending;
use super::text::TextView;
use crate::args::{OutputFormat, RunArgs};
use crate::compose::Composition;
use crate::exit::Failure;
use crate::host;
use crate::stdout::{Output, Printer, complain};

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
    printer: Printer,
    /// Every frame, or the result alone.
    all: bool,
    result_written: bool,
}

impl View {
    /// The view that `args` ask for; writes what comes before the first event.
    pub(crate) fn new(args: &RunArgs, composition: &Composition, session: &Session) -> Self {
        let mut view = Self::begin(args, composition, session);
        if let Some(said) = session.said_at_start() {
            // Nobody could subscribe before.
            view.show_kind(&EventKind::of_hooks("SessionStart", said));
        }
        view
    }

    fn begin(args: &RunArgs, composition: &Composition, session: &Session) -> Self {
        if !args.output_format.is_json() {
            return Self::Text(Box::new(TextView::new(
                args.verbose,
                host::no_color(),
                args.json_schema.is_some(),
            )));
        }
        let options = &composition.assembly.options;
        let facts = SessionFacts {
            session_id: session.session_id(),
            cwd: &composition.paths.cwd,
            model: &composition.model.model,
            tools: options.tools.iter().map(|tool| tool.spec().name.clone()).collect(),
            permission_mode: session.permission_mode().as_str(),
            native_web_tools: session.native_web_tools(),
            api_key_source: if composition.model.credential.is_some() { "user" } else { "none" },
        };
        let first = (composition.model.model.clone(), composition.model_info.clone());
        let spending = Spending::new(first, composition.fallback_models.iter().cloned());
        let frames = Frames::new(&facts, spending, options.ambient.clone());
        let all = args.output_format == OutputFormat::StreamJson;
        let view = FrameView { frames, printer: Printer::start(), all, result_written: false };
        if all {
            view.printer.out(format!("{}\n", view.frames.init(&facts)));
        }
        Self::Frames(Box::new(view))
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &Event) {
        self.show_kind(&event.kind);
    }

    fn show_kind(&mut self, kind: &EventKind) {
        match self {
            Self::Text(view) => view.show(kind),
            Self::Frames(view) => {
                for frame in view.frames.of(kind) {
                    view.write(&frame);
                }
            }
        }
    }

    /// Says that Ctrl-C was heard.
    pub(crate) fn interrupting(&mut self) {
        if let Self::Text(view) = self {
            view.interrupting();
        }
    }

    /// Shows why the turn failed.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        match self {
            Self::Text(view) => {
                view.finish();
                view.printer.err(&failure.render());
            }
            // A failure of the model has its result frame already.
            Self::Frames(view) if view.result_written => {}
            Self::Frames(view) => {
                let frame = startup_failure(failure, view.frames.session_id(), view.frames.ambient());
                view.write(&frame);
            }
        }
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written; a reader that has gone away is no error.
    pub(crate) async fn finish(self) -> io::Result<()> {
        match self {
            Self::Text(mut view) => {
                view.finish();
                view.printer.finish().await
            }
            Self::Frames(view) => view.printer.finish().await,
        }
    }
}

impl FrameView {
    fn write(&mut self, frame: &Value) {
        let is_result = frame.get("type").and_then(Value::as_str) == Some("result");
        if self.all || is_result {
            self.printer.out(format!("{frame}\n"));
        }
        self.result_written |= is_result;
    }
}

/// Shows why there is no turn, or what went wrong after it.
pub(crate) fn report(failure: &Failure, format: OutputFormat) {
    if format.is_json() {
        let frame = startup_failure(failure, "", &Ambient::default());
        let mut output = Output::new();
        output.line(&frame.to_string());
        // There is nowhere left to tell of a failure here.
        let _ = output.finish();
    } else {
        complain(&failure.render());
    }
}
