//! A process group that is never left behind by accident.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The group of a started program; killed when dropped before [`Group::release`].
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    held: bool,
}

impl Group {
    pub(super) fn led_by(id: Option<u32>) -> io::Result<Self> {
        let leader = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| io::Error::other("the program has no process id"))?;
        Ok(Self { leader, held: true })
    }

    pub(super) fn terminate(&self) {
        self.send(Signal::TERM);
    }

    pub(super) fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// No member runs any more. One that has ended but was not yet collected by its parent, as
    /// happens in containers without a proper first process, does not count.
    pub(super) fn is_gone(&self) -> bool {
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
            || runs_any(self.leader.as_raw_nonzero().get()) == Some(false)
    }

    /// What is left of the group may live on.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    fn send(&self, signal: Signal) {
        if let Err(error) = kill_process_group(self.leader, signal) {
            tracing::debug!(%error, ?signal, "a process group was already gone");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.held {
            self.kill();
        }
    }
}

/// Whether a process of the group `leader` runs, by `/proc`; `None` where there is none.
fn runs_any(leader: i32) -> Option<bool> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut known = false;
    for process in processes {
        let Ok(stat) = fs::read_to_string(process.path().join("stat")) else { continue };
        known = true;
        // The name in parentheses may hold anything; behind it stand state, parent and group.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
        let (state, group) = (fields.next(), fields.nth(1));
        let ended = matches!(state, Some("Z" | "X"));
        if !ended && group.and_then(|group| group.parse().ok()) == Some(leader) {
            return Some(true);
        }
    }
    known.then_some(false)
}

pub(super) fn signal_name(signal: i32) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    names.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| *name)
}
