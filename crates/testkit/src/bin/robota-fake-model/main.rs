//! `robota-fake-model`: the fake model server as a program, for people who write clients in any language.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program speaks to the person who started it"
)]

mod arguments;
mod recording;

use std::process::ExitCode;

use robota_testkit::{FakeModelServer, Script};

use arguments::{Command, HELP, Settings};
use recording::Recording;

/// Exit code of a run whose client broke the rules of the API.
const BROKEN_RULES: u8 = 1;
/// Exit code of a run that could not begin.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let settings = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Ok(Command::Serve(settings)) => settings,
        Err(message) => return fail(&format!("{message}\nTry `robota-fake-model --help`.")),
    };
    let server = match start(&settings) {
        Ok(server) => server,
        Err(message) => return fail(&message),
    };
    println!("{}", server.base_url());
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(serve(server, settings.once)),
        Err(error) => fail(&format!("the program cannot wait for signals: {error}")),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(UNUSABLE)
}

fn start(settings: &Settings) -> Result<FakeModelServer, String> {
    let plan = settings.plan.display();
    let json =
        std::fs::read_to_string(&settings.plan).map_err(|error| format!("{plan} cannot be read: {error}"))?;
    let script = Script::from_json(&json).map_err(|error| format!("{plan}: {error}"))?;
    let mut builder = FakeModelServer::builder(script).port(settings.port).strict(!settings.lenient);
    if let Some(path) = &settings.record {
        let recording = Recording::open(path)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        builder = builder.observe(move |request, violations| {
            if let Err(error) = recording.add(request, violations) {
                eprintln!("error: request {} was not recorded: {error}", request.number);
            }
        });
    }
    builder.start().map_err(|error| error.to_string())
}

async fn serve(server: FakeModelServer, once: bool) -> ExitCode {
    let played_out = async {
        if once {
            server.played_out().await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = played_out => {}
        stopped = stop_signal() => if let Err(error) = stopped {
            return fail(&format!("the program cannot wait for signals: {error}"));
        }
    }
    let violations = server.violations();
    server.shutdown().await;
    for violation in &violations {
        eprintln!("{violation}");
    }
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BROKEN_RULES) }
}

#[cfg(unix)]
async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn stop_signal() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
