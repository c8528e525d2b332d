//! Commands in a machine: `process.Process` of `spec/envd/process/process.proto`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::super::error::{SandboxError, SandboxErrorKind};
use super::super::output::{Output, WHOLE_OUTPUT};
use super::super::port::{OutputListener, OutputStream, SandboxRunOptions, SandboxRunResult};
use super::super::tree;
use super::answer::{self, Problem, not_understood};
use super::envd::Envd;
use super::envelope::{Decoder, Frame, encode};
use crate::process::{self, Ending, Spilled};

/// The daemon is asked to say something at least this often.
const KEEPALIVE: Duration = Duration::from_secs(50);
/// A connection that was silent for so long is broken.
const SILENCE: Duration = Duration::from_secs(90);
/// Between TERM and KILL, and between KILL and giving up.
const GRACE: Duration = Duration::from_secs(2);
/// What the daemon itself ends a command after, beyond its time: should this program die.
const MARGIN: Duration = Duration::from_secs(10);
/// How long a program of our own may take.
const OWN_TIMEOUT: Duration = Duration::from_secs(30);
/// Sends the signal `$1` to the group that `$2` leads, or to it alone when it leads none.
const SIGNAL_GROUP: &str = "kill -s \"$1\" -- \"-$2\" 2>/dev/null || kill -s \"$1\" -- \"$2\"";
/// Beginning of the name of the file in which a shell leaves its last folder.
const FOLDER_FILE: &str = "/tmp/robota-cwd-";
/// Gives the content of the file `$1` and removes it.
const TAKE_FILE: &str = "cat -- \"$1\" && rm -f -- \"$1\"";
const ACTION: &str = "run the command";

#[derive(Deserialize)]
struct StartResponse {
    event: Option<Event>,
}

/// `ProcessEvent` of the service.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    start: Option<StartEvent>,
    data: Option<DataEvent>,
    end: Option<EndEvent>,
}

#[derive(Deserialize)]
struct StartEvent {
    pid: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DataEvent {
    stdout: Option<String>,
    stderr: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct EndEvent {
    exit_code: i32,
    exited: bool,
    status: String,
    error: Option<String>,
}

/// The last message of a stream.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EndOfStream {
    error: Option<Problem>,
}

impl Envd {
    pub(super) async fn run_in_shell(
        self: Arc<Self>,
        command: &str,
        (folder, root): (&Path, &Path),
        options: &SandboxRunOptions,
        listener: Option<OutputListener>,
        cancel: &CancellationToken,
    ) -> Result<SandboxRunResult, SandboxError> {
        let folder = super::envd::text(folder)?;
        let report = options.report_folder.then(|| tree::unique(FOLDER_FILE));
        let telling = report.as_deref().and_then(|file| process::telling(command, file));
        let report = report.filter(|_| telling.is_some());
        let command = telling.unwrap_or_else(|| command.to_owned());
        let command = if options.merge_output { format!("exec 2>&1\n{command}") } else { command };
        let mut process = json!({"cmd": "/bin/bash", "args": ["-l", "-c", command], "cwd": folder});
        if !options.environment.is_empty() {
            let variables =
                options.environment.iter().map(|(name, value)| (name.clone(), value.clone().into()));
            process["envs"] = Value::Object(variables.collect::<Map<_, _>>());
        }
        let mut outputs = Outputs::new(options.output_limit, listener);
        outputs.whole = options.whole_output.as_ref().map(|_| Whole::default());
        let deadline = Instant::now() + options.timeout;
        let started = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(SandboxRunResult::ended(Ending::Cancelled)),
            started = timeout_at(deadline, self.start(process, options.timeout)) => started,
        };
        let Ok(started) = started else { return Ok(SandboxRunResult::ended(Ending::TimedOut)) };
        let running = Running { envd: Arc::clone(&self), pid: None, outputs, stream: Stream::new(started?) };
        let (mut result, whole) = running.until_its_end(deadline, cancel).await?;
        if let (Some(whole), Some(path)) = (whole.filter(|_| result.omitted_bytes > 0), &options.whole_output)
        {
            result.whole_output = self.keep(whole, path, root).await;
        }
        if let Some(file) = report.filter(|_| result.exit_code().is_some()) {
            result.last_folder = self.told_folder(&file, root).await;
        }
        Ok(result)
    }

    async fn keep(&self, whole: Whole, path: &Path, root: &Path) -> Option<Spilled> {
        match self.write(path, root, whole.bytes).await {
            Ok(_) => Some(Spilled { path: path.to_owned(), left_out: whole.left_out }),
            Err(error) => {
                tracing::warn!(%error, "the output of a command was not kept");
                None
            }
        }
    }

    /// The folder that a shell has left in `file`, which is then removed, as a path below `root`, when it is.
    async fn told_folder(&self, file: &str, root: &Path) -> Option<PathBuf> {
        let taken = self.program("/bin/sh", &["-c", TAKE_FILE, "sh", file]).await;
        let taken =
            taken.inspect_err(|error| tracing::debug!(%error, "a shell did not tell its folder")).ok()?;
        let told = process::told(taken.stdout.as_bytes())?;
        if told.starts_with(root) {
            return Some(told);
        }
        // The root may be a symlink itself.
        Some(self.real_path(&told, root).await.unwrap_or(told))
    }

    /// Runs a program of ours with these arguments, without a shell to read them.
    pub(super) async fn program(
        &self,
        program: &str,
        arguments: &[&str],
    ) -> Result<SandboxRunResult, SandboxError> {
        let process = json!({"cmd": program, "args": arguments});
        let run = async {
            let mut stream = Stream::new(self.start(process, OWN_TIMEOUT).await?);
            let mut outputs = Outputs::new(64 * 1024, None);
            loop {
                let event = stream.next().await?;
                outputs.take(event.data)?;
                if let Some(end) = event.end {
                    return Ok(outputs.finish(ending_of(&end)?));
                }
            }
        };
        timeout(OWN_TIMEOUT, run).await.unwrap_or_else(|_| {
            let message = format!("{program} did not end in the sandbox");
            Err(SandboxError::new(SandboxErrorKind::Timeout, message))
        })
    }

    async fn start(&self, process: Value, allowed: Duration) -> Result<Response, SandboxError> {
        let message = json!({"process": process, "stdin": false}).to_string();
        let request = self.client.post(format!("{}/process.Process/Start", self.base));
        let request = request
            .header("Content-Type", "application/connect+json")
            .header("Connect-Protocol-Version", "1")
            .header("Connect-Timeout-Ms", (allowed + MARGIN).as_millis().to_string())
            .header("Keepalive-Ping-Interval", KEEPALIVE.as_secs().to_string());
        answer::succeeded(ACTION, self.signed(request).body(encode(message.as_bytes())).send().await).await
    }

    /// Signals what was started as `pid`, with its group where it leads one.
    async fn signal(&self, pid: u32, signal: &str) {
        let id = pid.to_string();
        if let Err(error) = self.program("/bin/sh", &["-c", SIGNAL_GROUP, "sh", signal, &id]).await {
            tracing::debug!(%error, "a command was not signalled");
        }
        if signal == "KILL" {
            let body = json!({"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"});
            if let Err(error) = self.call("end the command", "/process.Process/SendSignal", &body).await {
                tracing::debug!(%error, "a command was already gone");
            }
        }
    }
}

/// A command that runs. Dropped before its end, it is killed in the background.
struct Running {
    envd: Arc<Envd>,
    pid: Option<u32>,
    outputs: Outputs,
    stream: Stream,
}

impl Running {
    async fn until_its_end(
        mut self,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<(SandboxRunResult, Option<Whole>), SandboxError> {
        let ending = loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => break self.stop(Ending::Cancelled).await,
                event = timeout_at(deadline, self.stream.next()) => event,
            };
            let Ok(event) = event else { break self.stop(Ending::TimedOut).await };
            if let Some(end) = self.take(event?)? {
                break ending_of(&end)?;
            }
        };
        self.pid = None;
        let mut outputs = std::mem::take(&mut self.outputs);
        let whole = outputs.whole.take();
        Ok((outputs.finish(ending), whole))
    }

    fn take(&mut self, event: Event) -> Result<Option<EndEvent>, SandboxError> {
        if let Some(start) = event.start {
            self.pid = Some(start.pid);
        }
        self.outputs.take(event.data)?;
        Ok(event.end)
    }

    /// TERM, two seconds of grace, KILL; gives back why.
    async fn stop(&mut self, why: Ending) -> Ending {
        for signal in ["TERM", "KILL"] {
            let Some(pid) = self.pid else { return why };
            self.envd.signal(pid, signal).await;
            let ended = async {
                // A stream that breaks now tells no more.
                while let Ok(event) = self.stream.next().await {
                    if !matches!(self.take(event), Ok(None)) {
                        return;
                    }
                }
            };
            if timeout(GRACE, ended).await.is_ok() {
                break;
            }
        }
        why
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(pid) = self.pid.take() else { return };
        let envd = Arc::clone(&self.envd);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { envd.signal(pid, "KILL").await });
        }
    }
}

/// The events of a command.
struct Stream {
    response: Response,
    decoder: Decoder,
}

impl Stream {
    fn new(response: Response) -> Self {
        Self { response, decoder: Decoder::default() }
    }

    /// The next event. Nothing is lost when this is dropped.
    async fn next(&mut self) -> Result<Event, SandboxError> {
        loop {
            match self.decoder.next()? {
                Some(Frame::Message(message)) => {
                    let message: StartResponse = serde_json::from_slice(&message)
                        .map_err(|error| not_understood(ACTION).with_source(error))?;
                    return Ok(message.event.unwrap_or_default());
                }
                Some(Frame::End(message)) => {
                    let end: EndOfStream = serde_json::from_slice(&message).unwrap_or_default();
                    return Err(end.error.map_or_else(broken, |problem| problem.into_error(ACTION, None)));
                }
                None => {}
            }
            let Ok(chunk) = timeout(SILENCE, self.response.chunk()).await else { return Err(broken()) };
            match chunk.map_err(|error| broken().with_source(error.without_url()))? {
                Some(chunk) => self.decoder.push(&chunk),
                None => return Err(broken()),
            }
        }
    }
}

fn broken() -> SandboxError {
    let message = "the connection broke before the command ended; it is being ended";
    SandboxError::new(SandboxErrorKind::Transport, message)
}

/// Both outputs as they come in.
#[derive(Default)]
struct Outputs {
    both: Option<(Output, Output)>,
    /// All of it, when it is to be kept.
    whole: Option<Whole>,
}

/// The beginning of both outputs, which mostly is all of them.
#[derive(Default)]
struct Whole {
    bytes: Vec<u8>,
    left_out: u64,
}

impl Whole {
    fn push(&mut self, bytes: &[u8]) {
        let (kept, left_out) = bytes.split_at(bytes.len().min(WHOLE_OUTPUT - self.bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.left_out += left_out.len() as u64;
    }
}

impl Outputs {
    fn new(limit: usize, listener: Option<OutputListener>) -> Self {
        let stdout = Output::new(OutputStream::Stdout, limit, listener.clone());
        Self { both: Some((stdout, Output::new(OutputStream::Stderr, limit, listener))), whole: None }
    }

    fn take(&mut self, data: Option<DataEvent>) -> Result<(), SandboxError> {
        let (Some(data), Some((stdout, stderr))) = (data, &mut self.both) else { return Ok(()) };
        for (output, encoded) in [(stdout, data.stdout), (stderr, data.stderr)] {
            let Some(encoded) = encoded else { continue };
            let bytes =
                STANDARD.decode(encoded).map_err(|error| not_understood(ACTION).with_source(error))?;
            output.push(&bytes);
            if let Some(whole) = &mut self.whole {
                whole.push(&bytes);
            }
        }
        Ok(())
    }

    fn finish(self, ending: Ending) -> SandboxRunResult {
        let mut result = SandboxRunResult::ended(ending);
        if let Some((stdout, stderr)) = self.both {
            let (before, after);
            (result.stdout, before) = stdout.finish();
            (result.stderr, after) = stderr.finish();
            result.omitted_bytes = before + after;
        }
        result
    }
}

fn ending_of(end: &EndEvent) -> Result<Ending, SandboxError> {
    if end.exited || end.status.starts_with("exit status") {
        return Ok(Ending::Exited(end.exit_code));
    }
    if let Some(signal) = end.status.strip_prefix("signal: ") {
        return Ok(Ending::Signalled(number_of(signal)));
    }
    let why = end.error.as_deref().unwrap_or(&end.status);
    Err(SandboxError::new(SandboxErrorKind::Failed, format!("cannot {ACTION}: {why}")))
}

/// The number of a signal as Go names it, which the daemon is written in; 0 for one that is not known here.
fn number_of(signal: &str) -> i32 {
    let name = signal.split(" (").next().unwrap_or_default();
    match name {
        "hangup" => 1,
        "interrupt" => 2,
        "quit" => 3,
        "illegal instruction" => 4,
        "trace/breakpoint trap" => 5,
        "aborted" => 6,
        "bus error" => 7,
        "floating point exception" => 8,
        "killed" => 9,
        "user defined signal 1" => 10,
        "segmentation fault" => 11,
        "user defined signal 2" => 12,
        "broken pipe" => 13,
        "alarm clock" => 14,
        "terminated" => 15,
        _ => 0,
    }
}
