//! Print mode: one prompt, one answer, and out.

mod ending;
mod frames;
pub(crate) mod parts;
pub(crate) mod remarks;
mod spending;
pub(crate) mod text;
mod view;

use std::sync::Arc;
use std::time::Duration;

use robota_core::TurnEnd;
use robota_session::{Prompt, Session, TurnOutcome};

use crate::args::RunArgs;
use crate::compose::{Composition, compose, session_failure};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::json_schema;
use crate::prompt_input;
use crate::signals::{Asked, Signals};
use crate::stdout::complain;
pub(crate) use view::View;

/// How long the runtime may take to stop after the last word.
pub(crate) const RUNTIME_GRACE: Duration = Duration::from_millis(500);

/// How long a program that was told to end waits for the reader of its output.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How one turn went, as far as the program cares.
enum Ended {
    /// It ended by itself, or after one Ctrl-C.
    Turn(Box<Result<TurnOutcome, robota_session::Error>>),
    /// A second Ctrl-C.
    GivenUp,
    /// SIGTERM, after the turn was ended.
    Terminated,
}

/// Runs the prompt that `args` describe.
pub(crate) fn run(args: &RunArgs) -> Exit {
    // Where the system has no such thing, what leaves its command's session is not found when that ends.
    let _adopted_or_not = robota_tools::process::adopt_orphans();
    let started = prepare(args);
    let outcome = started.and_then(|(prompt, composition)| {
        let runtime = runtime()?;
        let exit = runtime.block_on(answer(args, prompt, composition));
        runtime.shutdown_timeout(RUNTIME_GRACE);
        exit
    });
    outcome.unwrap_or_else(|failure| {
        view::report(&failure, args.output_format);
        failure.exit
    })
}

fn prepare(args: &RunArgs) -> Result<(Prompt, Composition), Failure> {
    let host = Host::of_process()?;
    let schema = args.json_schema.as_deref().map(json_schema::read).transpose()?;
    let composition = compose(&host, args)?;
    let mut prompt = Prompt::new(prompt_input::read(&args.prompt)?);
    prompt.output_schema = schema;
    Ok((prompt, composition))
}

/// The runtime of the program; two workers, so that a slow reader of the output holds no turn up.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Failed, format!("the async runtime cannot be started: {error}")))
}

async fn answer(args: &RunArgs, prompt: Prompt, composition: Composition) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be listened to: {error}")))?;
    // Hooks of its start may take long; ended in the middle, there is no session to close.
    let session = tokio::select! {
        biased;
        opened = composition.open(args) => Arc::new(opened?),
        asked = signals.next() => return Ok(exit_of_signal(asked)),
    };
    if !args.output_format.is_json() || args.debug {
        composition.notices.iter().for_each(|notice| complain(&format!("note: {notice}")));
        if !session.defects().is_empty() {
            complain(&format!("note: {}", session.defects()));
        }
    }
    // A program that starts robota cannot ask why a rule of its project does not count, so this is always said.
    composition
        .ignored
        .iter()
        .chain(&composition.limits)
        .for_each(|notice| complain(&format!("note: {notice}")));
    let view = View::new(args, &composition, &session);
    let exit = drive(&session, prompt, view, &mut signals).await?;
    let mut events = session.subscribe();
    let closed = loop {
        tokio::select! {
            biased;
            closed = session.shutdown("other") => break closed,
            // It goes on behind the step that takes too long: the hooks of the end.
            _ = signals.next() => {}
        }
    };
    if !args.output_format.is_json() {
        while let Some(event) = events.try_recv() {
            remarks::remarks(&event.kind).iter().for_each(|line| complain(line));
        }
    }
    match closed {
        Err(error) if exit == Exit::Success => Err(session_failure(&error)),
        _ => Ok(exit),
    }
}

/// Runs one turn and shows it to its end; the exit code says how it went.
///
/// # Errors
///
/// When the answer could not be written to standard output.
pub(crate) async fn drive(
    session: &Arc<Session>,
    prompt: Prompt,
    mut view: View,
    signals: &mut Signals,
) -> Result<Exit, Failure> {
    let exit = match follow(session, prompt, &mut view, signals).await {
        Ended::Turn(result) => match *result {
            Ok(outcome) => exit_of_turn(&outcome),
            Err(error) => {
                let failure = session_failure(&error);
                view.fail(&failure);
                failure.exit
            }
        },
        Ended::GivenUp => return Ok(Exit::Interrupted),
        Ended::Terminated => {
            // A reader that takes its part in time gets it; nobody is waited for.
            let _ = tokio::time::timeout(LAST_WORDS, view.finish()).await;
            return Ok(Exit::Terminated);
        }
    };
    let written = tokio::select! {
        biased;
        written = view.finish() => written,
        asked = signals.next() => {
            return Ok(exit_of_signal(asked));
        }
    };
    match written {
        Err(error) if exit == Exit::Success => Err(Failure::output(&error)),
        _ => Ok(exit),
    }
}

async fn follow(session: &Arc<Session>, prompt: Prompt, view: &mut View, signals: &mut Signals) -> Ended {
    let mut events = session.subscribe();
    let running = Arc::clone(session);
    let mut turn = tokio::spawn(async move { running.run(prompt).await });
    let mut interrupted = false;
    let mut terminated = false;
    let result = loop {
        tokio::select! {
            biased;
            asked = signals.next() => match asked {
                Asked::Interrupt if interrupted => {
                    turn.abort();
                    return Ended::GivenUp;
                }
                Asked::Interrupt => {
                    interrupted = true;
                    view.interrupting();
                    session.abort();
                }
                Asked::Terminate => {
                    terminated = true;
                    session.abort();
                }
            },
            Some(event) = events.recv() => view.show(&event),
            result = &mut turn => break result,
        }
    };
    while let Some(event) = events.try_recv() {
        view.show(&event);
    }
    match result {
        _ if terminated => Ended::Terminated,
        Ok(result) => Ended::Turn(Box::new(result)),
        Err(_) => Ended::GivenUp,
    }
}

const fn exit_of_signal(asked: Asked) -> Exit {
    match asked {
        Asked::Interrupt => Exit::Interrupted,
        Asked::Terminate => Exit::Terminated,
    }
}

const fn exit_of_turn(outcome: &TurnOutcome) -> Exit {
    match outcome.ended {
        TurnEnd::Interrupted => Exit::Interrupted,
        TurnEnd::MaxRounds | TurnEnd::ContextFull | TurnEnd::Blocked | TurnEnd::Stopped | TurnEnd::Failed => {
            Exit::Failed
        }
        _ => Exit::Success,
    }
}
