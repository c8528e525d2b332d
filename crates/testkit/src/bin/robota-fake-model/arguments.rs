//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
A model API that says what a plan tells it to.

Usage: robota-fake-model PLAN.json [--port N] [--record FILE.jsonl] [--once] [--lenient]

Speaks Anthropic Messages (POST /v1/messages), OpenAI Chat Completions (POST /v1/chat/completions) and
Google Gemini (POST /v1beta/models/{model}:streamGenerateContent),
streamed or whole, on 127.0.0.1. Prints its base URL as the first line, and serves until it gets SIGINT
or SIGTERM. A request that breaks a rule of the API is answered with status 400 and the reason.

  PLAN.json            the replies, one for each request: {\"replies\": [{\"steps\": [{\"text\": \"Hello\"}]}]}
  --port N             listen on this port instead of a free one
  --record FILE.jsonl  append every model call to this file, one JSON object a line; keys are blanked out
  --once               stop when the last reply has been given
  --lenient            answer requests that break a rule all the same
  --help               show this text

Exit codes: 0 every request kept the rules; 1 one did not, the reasons stand on standard error;
2 the server could not start.
";

pub(crate) enum Command {
    Help,
    Serve(Settings),
}

#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) plan: PathBuf,
    pub(crate) port: u16,
    pub(crate) record: Option<PathBuf>,
    pub(crate) once: bool,
    pub(crate) lenient: bool,
}

/// Reads the arguments after the program's name. The error is a sentence for a person.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    let (mut plan, mut port, mut record, mut once, mut lenient) = (None, 0, None, false, false);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy().into_owned();
        let (name, inline) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
            _ => (text.as_str(), None),
        };
        let mut value = || inline.clone().or_else(|| arguments.next()).ok_or(format!("{name} needs a value"));
        match name {
            "--help" | "-h" => return Ok(Command::Help),
            "--once" => once = true,
            "--lenient" => lenient = true,
            "--record" => record = Some(PathBuf::from(value()?)),
            "--port" => {
                let given = value()?.to_string_lossy().into_owned();
                port = given
                    .parse()
                    .map_err(|_| format!("`{given}` is not a port; use a number from 0 to 65535"))?;
            }
            _ if text.starts_with('-') => return Err(format!("unknown option {name}")),
            _ if plan.is_some() => return Err(format!("one plan is enough; what is `{text}`?")),
            _ => plan = Some(PathBuf::from(argument)),
        }
    }
    let plan = plan.ok_or("no plan given")?;
    Ok(Command::Serve(Settings { plan, port, record, once, lenient }))
}
