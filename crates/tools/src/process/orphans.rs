//! Programs whose parents are gone, as children of this process.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitOptions, waitpid};

use super::proc_table::{self, Process};

/// The programs that this process has started, and that somebody waits for.
static STARTED: Mutex<Option<Started>> = Mutex::new(None);

#[derive(Debug, Default)]
struct Started {
    /// Each with whether it was the only one the whole time.
    leaders: HashMap<i32, bool>,
    adopting: bool,
}

/// Makes this process the parent of everything whose parent ends before it, below the programs that it starts
/// (`PR_SET_CHILD_SUBREAPER`).
///
/// What has left the session of its command and cleared its environment is then still found when the command has
/// to end, and what ends is collected, also where nobody else does, as in containers without an init process.
/// It concerns the whole process and is for the program to decide, at its start. Whoever else in this process
/// starts programs in sessions of their own must not do so beside it: they would be taken for orphans.
///
/// # Errors
///
/// When the system has no such thing, or refuses it.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        // Any process id says yes.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        with_started(|started| started.adopting = true);
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Starts a program by `start`, which also tells its id, so that it is never taken for an orphan.
pub(super) fn start<T>(start: impl FnOnce() -> io::Result<(T, Pid)>) -> io::Result<T> {
    with_started(|started| {
        let (child, leader) = start()?;
        let alone = started.leaders.is_empty();
        started.leaders.values_mut().for_each(|alone| *alone = false);
        started.leaders.insert(leader.as_raw_nonzero().get(), alone);
        Ok(child)
    })
}

/// Nobody waits for `leader` any more.
pub(super) fn forget(leader: Pid) {
    with_started(|started| started.leaders.remove(&leader.as_raw_nonzero().get()));
}

/// Whether `process` is a child of ours that nobody has started here, when such are adopted.
pub(super) fn is_adopted(process: &Process) -> bool {
    with_started(|started| started.adopting && is_orphan(started, process))
}

/// Whether `process` is a child of ours that somebody else in this process has started.
pub(super) fn is_foreign(process: &Process) -> bool {
    i32::try_from(std::process::id()).is_ok_and(|this| this == process.parent)
        && with_started(|started| {
            let is_ours = started.leaders.contains_key(&process.id);
            let is_adopted = started.adopting && is_orphan(started, process);
            !is_ours && !is_adopted
        })
}

/// Whether no other program was waited for since `leader` began, so that an orphan that tells nothing of its origin
/// can have come from there.
pub(super) fn was_alone(leader: Pid) -> bool {
    with_started(|started| started.leaders.get(&leader.as_raw_nonzero().get()).copied().unwrap_or(false))
}

/// Collects what has ended of `processes`, where that is for us to do.
pub(super) fn reap<'a>(processes: impl IntoIterator<Item = &'a Process>) {
    with_started(|started| {
        if !started.adopting {
            return;
        }
        for process in processes {
            if process.ended
                && is_orphan(started, process)
                && let Some(id) = Pid::from_raw(process.id)
            {
                // One that somebody else has collected is no error.
                let _collected = waitpid(Some(id), WaitOptions::NOHANG);
            }
        }
    });
}

/// Collects every orphan that has ended, soon.
pub(super) fn reap_all() {
    if with_started(|started| started.adopting) {
        tokio::task::spawn_blocking(|| reap(&proc_table::processes().unwrap_or_default()));
    }
}

/// What runs below our programs is in their sessions or in new ones, never in ours.
fn is_orphan(started: &Started, process: &Process) -> bool {
    let this = i32::try_from(std::process::id()).ok();
    this == Some(process.parent)
        && !started.leaders.contains_key(&process.id)
        && this.and_then(proc_table::process).is_some_and(|this| this.session != process.session)
}

fn with_started<T>(act: impl FnOnce(&mut Started) -> T) -> T {
    let mut started: MutexGuard<'_, _> = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    act(started.get_or_insert_with(Started::default))
}
