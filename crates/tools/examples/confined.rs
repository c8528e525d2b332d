//! Runs a command in the sandbox: changes in the current folder only, no network.
//!
//! `cargo run -p robota-tools --example confined -- ls -l`
//!
//! The program is its own helper; the tests of the sandbox use it as theirs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use robota_tools::confine::{Helper, LinuxSandbox, SandboxPolicy, helper_main};
use robota_tools::process::{CommandLine, Ending, run};
use tokio_util::sync::CancellationToken;

const HELPER: &str = "--confine-helper";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == HELPER).is_some() {
        let end = helper_main(arguments);
        if let Some(message) = end.message {
            complain(&message);
        }
        return ExitCode::from(end.code);
    }
    let Some(program) = arguments.next() else {
        complain("usage: confined PROGRAM [ARGUMENT...]");
        return ExitCode::from(2);
    };
    match confined(PathBuf::from(program), arguments.collect()) {
        Ok(code) => code,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a program reads its environment")]
#[expect(clippy::print_stdout, reason = "a program prints")]
fn confined(
    program: PathBuf,
    arguments: Vec<std::ffi::OsString>,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let directory = std::env::current_dir()?;
    let helper = Helper { program: std::env::current_exe()?, leading: vec![HELPER.into()] };
    let sandbox = LinuxSandbox::new(&SandboxPolicy::new(vec![directory.clone()]), helper)?;
    sandbox.weaknesses().iter().for_each(|weakness| complain(weakness));
    let environment = std::env::vars_os().collect();
    let command =
        CommandLine { program, arguments, directory, environment, timeout: Duration::from_secs(600) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended =
        runtime.block_on(run(command, Some(&sandbox), &CancellationToken::new(), |text| print!("{text}")))?;
    Ok(match ended.ending {
        Ending::Exited(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        _ => ExitCode::FAILURE,
    })
}

#[expect(clippy::print_stderr, reason = "a program prints")]
fn complain(message: &str) {
    eprintln!("{message}");
}
