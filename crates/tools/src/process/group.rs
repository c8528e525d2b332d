//! A family as its supervisor sees it: looked after on threads that may block.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, CommandWrapper, KillOnDrop, ProcessSession};
use rustix::process::Pid;
use tokio::process::Command;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::CommandLine;
use super::family::Family;
use super::mark::{Mark, VARIABLE};
use super::orphans;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often an ending family is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long the kernel gets to end a killed program.
const REAP: Duration = Duration::from_secs(5);

/// A started program and its family, which is killed when this is dropped before [`Group::release`].
pub(super) struct Group {
    family: Arc<Mutex<Family>>,
    child: Box<dyn ChildWrapper>,
    leader: Pid,
}

impl Group {
    /// Starts `command` in a session and group of its own, with these as its standard input, output and errors.
    pub(super) fn start(command: &CommandLine, [stdin, stdout, stderr]: [Stdio; 3]) -> io::Result<Self> {
        let mut mark = Mark::new();
        // Dropping the wrapped command closes our ends of the pipes that belong to the child.
        let mut wrapped = CommandWrap::with_new(&command.program, |inner| {
            inner.args(&command.arguments).current_dir(&command.directory);
            inner.env_clear().envs(command.environment.iter().map(|(name, value)| (name, value)));
            inner.env(VARIABLE, mark.name());
            inner.stdin(stdin).stdout(stdout).stderr(stderr);
        });
        wrapped.wrap(KillOnDrop).wrap(OwnSession);
        let (child, leader) = orphans::start(|| {
            let child = mark.on_what_starts(|| wrapped.spawn())?;
            let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let leader = leader.ok_or_else(|| io::Error::other("the program has no process id"))?;
            Ok(((child, leader), leader))
        })?;
        let family = Arc::new(Mutex::new(Family::led_by(leader, mark)));
        Ok(Self { family, child, leader })
    }

    /// The id of the program itself.
    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Waits for the end of the program itself.
    pub(super) async fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await?;
        self.with(Family::leader_is_collected);
        Ok(status)
    }

    /// TERM, up to two seconds of grace for every member, KILL.
    pub(super) async fn end(&mut self) {
        self.blocking(Family::terminate).await;
        let kill_at = Instant::now() + GRACE;
        let mut collected = false;
        loop {
            if collected && !self.with(|family| family.any_runs()) && self.blocking(Family::is_gone).await {
                return;
            }
            tokio::select! {
                biased;
                () = sleep_until(kill_at) => break,
                _ = self.wait(), if !collected => collected = true,
                () = sleep(LOOK) => {}
            }
        }
        self.blocking(Family::kill).await;
        if !collected {
            let _reaped_or_not = timeout(REAP, self.wait()).await;
        }
        self.kill_rest().await;
    }

    /// Kills the members that have outlived the program, and waits until they are gone.
    pub(super) async fn kill_rest(&self) {
        let give_up = Instant::now() + REAP;
        while !self.blocking(Family::is_gone).await && Instant::now() < give_up {
            self.blocking(Family::kill).await;
            sleep(LOOK).await;
        }
    }

    /// Whether certainly nothing is left of the process group. Cheap.
    pub(super) fn is_group_gone(&self) -> bool {
        self.with(|family| family.is_group_gone())
    }

    /// What is left of the family may live on.
    pub(super) fn release(&self) {
        self.with(Family::release);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Family) -> T) -> T {
        act(&mut self.family.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn blocking<T: Default + Send + 'static>(&self, act: fn(&mut Family) -> T) -> T {
        let family = Arc::clone(&self.family);
        let acting = tokio::task::spawn_blocking(move || {
            act(&mut family.lock().unwrap_or_else(PoisonError::into_inner))
        });
        // A runtime that shuts down runs nothing more; the family is then killed when it is dropped.
        acting.await.unwrap_or_default()
    }
}

/// A session of its own, without a way of waiting that takes all children of the group: orphans are not for it.
#[derive(Debug)]
struct OwnSession;

impl CommandWrapper for OwnSession {
    fn pre_spawn(&mut self, command: &mut Command, core: &CommandWrap) -> io::Result<()> {
        ProcessSession.pre_spawn(command, core)
    }
}
