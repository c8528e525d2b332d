//! A started program with everything it has started in turn, which is never left behind by accident.
//!
//! A process belongs to the family when it descends from the leader by its parents, is in the group or session
//! of the leader, or carries the mark of the call: so double forks, `setsid` and `nohup` do not take it away.
//! With orphans adopted, one that has shed all of these is found among our children. Processes are signalled by
//! handle, never by a number that may be another's by now, and frozen before they are killed, so that none can
//! start another one meanwhile.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::mark::{Mark, Marked};
use super::orphans;
use super::proc_table::{self, Process};

/// How often a family is looked through for new members while it is frozen.
const MOST_LOOKS: usize = 64;

/// The family of a program; killed when dropped before [`Family::release`].
#[derive(Debug)]
pub(super) struct Family {
    leader: Pid,
    /// When the leader began; 0 where that is not known.
    started: u64,
    mark: Mark,
    /// Everybody who was ever seen.
    members: HashMap<i32, Member>,
    /// Who was looked at and does not belong to it, with when they began.
    strangers: HashSet<(i32, u64)>,
    /// The leader was collected, so that its number may be another's.
    leader_collected: bool,
    /// Its number is another's, so that its group and session are gone.
    leader_replaced: bool,
    held: bool,
}

#[derive(Debug)]
struct Member {
    started: u64,
    handle: Handle,
    /// The kernel lets us not signal it.
    out_of_reach: bool,
    frozen: bool,
}

impl Family {
    /// The family of `leader`, which was started just now with `mark` on it.
    pub(super) fn led_by(leader: Pid, mark: Mark) -> Self {
        let id = leader.as_raw_nonzero().get();
        let started = proc_table::process(id).map_or(0, |process| process.started);
        let (members, strangers) = (HashMap::new(), HashSet::new());
        let (leader_collected, leader_replaced, held) = (false, false, true);
        Self { leader, started, mark, members, strangers, leader_collected, leader_replaced, held }
    }

    /// The leader was waited for.
    pub(super) fn leader_is_collected(&mut self) {
        self.leader_collected = true;
    }

    /// What is left of it may live on.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Asks all members to end.
    pub(super) fn terminate(&mut self) {
        self.look();
        self.signal(Signal::TERM);
        self.signal_group(Signal::TERM);
    }

    /// Kills all members: once none of them can start another.
    pub(super) fn kill(&mut self) {
        self.signal_group(Signal::STOP);
        for _ in 0..MOST_LOOKS {
            self.look();
            if !self.freeze() {
                break;
            }
        }
        self.signal_group(Signal::KILL);
        self.signal(Signal::KILL);
    }

    /// Whether a member that was seen runs still. Cheap.
    pub(super) fn any_runs(&self) -> bool {
        let mut runs = false;
        for (id, member) in &self.members {
            match proc_table::process(*id).filter(|process| process.started == member.started) {
                Some(process) if process.ended => orphans::reap([&process]),
                Some(_) if !member.out_of_reach => runs = true,
                _ => {}
            }
        }
        runs
    }

    /// Whether nobody runs any more, whoever was seen before. One that has ended but was not collected by its
    /// parent does not count.
    pub(super) fn is_gone(&mut self) -> bool {
        // Looking takes a while: somebody may start another where the look has been already, and end.
        for _ in 0..2 {
            match self.look() {
                Some(()) if self.any_runs() => return false,
                Some(()) => {}
                None => return self.is_group_gone(),
            }
        }
        true
    }

    /// Whether the group of the leader has no member at all; `false` may be wrong. Cheap.
    pub(super) fn is_group_gone(&self) -> bool {
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
    }

    /// Looks for members that were not seen yet; `None` where there is no list of processes.
    fn look(&mut self) -> Option<()> {
        let processes = proc_table::processes()?;
        let leader = self.leader.as_raw_nonzero().get();
        self.leader_replaced |=
            processes.iter().any(|process| process.id == leader && process.started != self.started);
        let mut children: HashMap<i32, Vec<&Process>> = HashMap::new();
        for process in &processes {
            children.entry(process.parent).or_default().push(process);
        }
        let foreign = foreign(&processes, &children);
        let known = processes.iter().filter(|process| !foreign.contains(&process.id));
        let mut found: Vec<&Process> = known.filter(|process| self.is_member(process)).collect();
        while let Some(member) = found.pop() {
            self.add(member);
            found.extend(children.remove(&member.id).unwrap_or_default());
        }
        orphans::reap(processes.iter().filter(|process| self.members.contains_key(&process.id)));
        Some(())
    }

    /// Whether `process` belongs to the family by what it is, not by its parent.
    fn is_member(&mut self, process: &Process) -> bool {
        let leader = self.leader.as_raw_nonzero().get();
        if let Some(member) = self.members.get(&process.id) {
            return member.started == process.started;
        }
        // Whoever began before the leader, this process among them, is none of its.
        if process.started < self.started {
            return false;
        }
        if !self.leader_replaced && (process.group == leader || process.session == leader) {
            return true;
        }
        if orphans::is_adopted(process) {
            // It has run below some command. Without a mark it may have done so below any that ran meanwhile.
            return match self.mark.found_on(process.id) {
                Marked::Ours => true,
                Marked::Other => false,
                Marked::Nothing => orphans::was_alone(self.leader),
            };
        }
        // Nobody gets the mark later.
        let key = (process.id, process.started);
        if self.strangers.contains(&key) {
            return false;
        }
        let belongs = self.mark.found_on(process.id) == Marked::Ours;
        if !belongs {
            self.strangers.insert(key);
        }
        belongs
    }

    fn add(&mut self, process: &Process) {
        if let Entry::Vacant(place) = self.members.entry(process.id)
            && let Some(handle) = Handle::on(process)
        {
            let started = process.started;
            place.insert(Member { started, handle, out_of_reach: false, frozen: false });
        }
    }

    /// Stops the members that run; whether there was one.
    fn freeze(&mut self) -> bool {
        let mut any = false;
        for member in self.members.values_mut().filter(|member| !member.frozen) {
            member.send(Signal::STOP);
            (member.frozen, any) = (true, true);
        }
        any
    }

    fn signal(&mut self, signal: Signal) {
        self.members.values_mut().for_each(|member| member.send(signal));
    }

    /// Signals the group at once, as long as its number is its own.
    fn signal_group(&self, signal: Signal) {
        let replaced = || {
            let now = proc_table::process(self.leader.as_raw_nonzero().get());
            now.is_some_and(|process| process.started != self.started)
        };
        if !self.leader_collected
            && !replaced()
            && let Err(error) = kill_process_group(self.leader, signal)
        {
            tracing::debug!(%error, ?signal, "a process group was already gone");
        }
    }
}

/// What others in this process have started, with all below it. Started at the same moment as a command, it may
/// have got the limit that marks it.
fn foreign(processes: &[Process], children: &HashMap<i32, Vec<&Process>>) -> HashSet<i32> {
    let mut found: Vec<&Process> = processes.iter().filter(|process| orphans::is_foreign(process)).collect();
    let mut foreign = HashSet::new();
    while let Some(process) = found.pop() {
        if foreign.insert(process.id) {
            found.extend(children.get(&process.id).into_iter().flatten().copied());
        }
    }
    foreign
}

impl Drop for Family {
    fn drop(&mut self) {
        if self.held {
            self.kill();
        }
        orphans::forget(self.leader);
    }
}

impl Member {
    fn send(&mut self, signal: Signal) {
        self.out_of_reach |= self.handle.send(signal).is_err_and(|error| error == Errno::PERM);
    }
}

/// A way to signal one process and no other.
#[derive(Debug)]
struct Handle {
    #[cfg(target_os = "linux")]
    file: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    id: Pid,
}

impl Handle {
    /// A handle on `process`, unless its number is another's by now.
    #[cfg(target_os = "linux")]
    fn on(process: &Process) -> Option<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};

        let file = pidfd_open(Pid::from_raw(process.id)?, PidfdFlags::empty()).ok()?;
        let same = proc_table::process(process.id).is_some_and(|now| now.started == process.started);
        same.then_some(Self { file })
    }

    #[cfg(target_os = "linux")]
    fn send(&self, signal: Signal) -> Result<(), Errno> {
        rustix::process::pidfd_send_signal(&self.file, signal)
    }

    #[cfg(not(target_os = "linux"))]
    fn on(process: &Process) -> Option<Self> {
        Some(Self { id: Pid::from_raw(process.id)? })
    }

    #[cfg(not(target_os = "linux"))]
    fn send(&self, signal: Signal) -> Result<(), Errno> {
        rustix::process::kill_process(self.id, signal)
    }
}
