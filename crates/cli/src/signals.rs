//! Ctrl-C and the signals that end a program.

use std::io;
use std::sync::Arc;

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// From now on a write beyond the largest file that is allowed (`ulimit -f`) fails and does not end the program.
///
/// The signal is caught, not ignored: the programs that tools start are ended by it as ever.
pub(crate) fn survive_full_files() {
    // Fails for no signal that may be caught, and then all stays as it was.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: end the turn.
    Interrupt,
    /// SIGTERM or a closed terminal: end the program.
    Terminate,
}

/// The signals from now on; none of them ends the program by itself any more.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.interrupt.recv() => Asked::Interrupt,
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.hang_up.recv() => Asked::Terminate,
        }
    }
}
