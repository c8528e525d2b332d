//! What a confined command needs as long as anything of it runs.

use std::any::Any;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::channel::{Channel, Message};
use super::placeholder::Placeholder;
use super::planted::Planted;
use super::policy::ServeProxy;
use super::survivors;
use crate::process::{ConfineError, Verdict};

/// One command and what is kept for it.
pub(super) struct Run {
    listener: Option<JoinHandle<Heard>>,
    heard: Heard,
    pub(super) placeholders: Vec<Placeholder>,
    pub(super) planted: Planted,
    /// What serves its connections.
    pub(super) served: Option<Box<dyn Any + Send>>,
}

/// What the helper said.
#[derive(Default)]
struct Heard {
    confined: bool,
    mount_namespace: Option<u64>,
    failed: Option<String>,
    served: Option<Box<dyn Any + Send>>,
}

/// Runs whose commands have ended, but not all that they started.
#[derive(Default)]
pub(super) struct Leftovers(Mutex<Vec<Run>>);

/// Lets go of a run when its command has ended.
pub(super) struct Keep {
    run: Arc<Mutex<Option<Run>>>,
    leftovers: Arc<Leftovers>,
}

impl Run {
    /// Listens to the helper at the other end of `socket`.
    pub(super) fn new(socket: UnixStream, proxy: Option<Arc<dyn ServeProxy>>) -> Self {
        Self {
            listener: Some(thread::spawn(move || listen(Channel::over(socket), proxy.as_deref()))),
            heard: Heard::default(),
            placeholders: Vec::new(),
            planted: Planted::default(),
            served: None,
        }
    }

    /// What its end is judged by, and what has to be kept until then.
    pub(super) fn keep(self, leftovers: &Arc<Leftovers>) -> (Keep, Verdict) {
        let run = Arc::new(Mutex::new(Some(self)));
        let judged = Arc::clone(&run);
        let verdict: Verdict = Box::new(move || locked(&judged).as_mut().map_or(Ok(()), Run::verdict));
        (Keep { run, leftovers: Arc::clone(leftovers) }, verdict)
    }

    fn verdict(&mut self) -> Result<(), ConfineError> {
        // The helper has ended or become the command, either of which closes its end.
        self.hear();
        match &self.heard {
            Heard { failed: Some(message), .. } => Err(ConfineError::new(message.clone())),
            Heard { confined: true, .. } => Ok(()),
            Heard { .. } => {
                Err(ConfineError::new("the sandbox's helper ended before it had confined itself"))
            }
        }
    }

    fn hear(&mut self) {
        if let Some(listener) = self.listener.take() {
            self.heard = listener.join().unwrap_or_default();
            self.served = self.heard.served.take().or(self.served.take());
        }
    }

    /// Whether something of it still runs that needs what is kept.
    fn is_needed(&mut self) -> bool {
        if self.listener.as_ref().is_some_and(|listener| !listener.is_finished()) {
            return true;
        }
        self.hear();
        let keeps_something = self.served.is_some() || !self.placeholders.is_empty();
        keeps_something && self.heard.mount_namespace.is_some_and(survivors::any_in)
    }
}

impl Leftovers {
    /// Lets go of the runs of which nothing is left.
    pub(super) fn sweep(&self) {
        let mut runs = locked(&self.0);
        let mut at = 0;
        while let Some(run) = runs.get_mut(at) {
            if run.is_needed() {
                at += 1;
            } else {
                drop(runs.swap_remove(at));
            }
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        self.sweep();
        // What still runs must not get at the names that were kept from it.
        let runs = locked(&self.0).drain(..).flat_map(|run| run.placeholders).collect::<Vec<_>>();
        runs.into_iter().for_each(Placeholder::abandon);
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        let Some(mut run) = locked(&self.run).take() else { return };
        if run.is_needed() {
            locked(&self.leftovers.0).push(run);
        }
    }
}

impl fmt::Debug for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leftovers").field("runs", &locked(&self.0).len()).finish()
    }
}

/// Takes what the helper says to its end.
fn listen(mut channel: Channel, proxy: Option<&dyn ServeProxy>) -> Heard {
    let mut heard = Heard::default();
    while let Ok(Some(message)) = channel.receive() {
        match message {
            Message::Confined { mount_namespace } => {
                heard.confined = true;
                heard.mount_namespace = mount_namespace;
            }
            Message::Failed(message) => heard.failed = Some(message),
            Message::Listening => {
                let answer = match serve(&mut channel, proxy) {
                    Ok(served) => {
                        heard.served = Some(served);
                        Message::Serving
                    }
                    Err(message) => Message::Failed(message),
                };
                // A helper that is gone needs no answer.
                let _sent_or_gone = channel.send(&answer);
            }
            Message::Serving | Message::Found(_) => {}
        }
    }
    heard
}

fn serve(channel: &mut Channel, proxy: Option<&dyn ServeProxy>) -> Result<Box<dyn Any + Send>, String> {
    let listener = channel.take_descriptor().ok_or("the listener got lost on the way to the proxy")?;
    let proxy = proxy.ok_or("there is no proxy")?;
    proxy.serve(listener.into()).map_err(|error| format!("cannot start the proxy: {error}"))
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
