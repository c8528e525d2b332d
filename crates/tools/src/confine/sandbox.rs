//! The sandbox as the process runner uses it.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use super::channel::{Channel, Message};
use super::guarded::MISSING;
use super::helper_program::{PROBE, RUN, VARIABLE};
use super::kept_run::{Leftovers, Run};
use super::placeholder::Placeholder;
use super::plan::{Namespaces, Network, Plan};
use super::planted::Planted;
use super::policy::{Demand, Helper, NetworkPolicy, SandboxPolicy, ServeProxy};
use super::roots;
use super::status::SandboxStatus;
use crate::process::{CommandLine, Confine, ConfineError, Confined};

/// How long a helper may take to try every layer.
const PROBE_TIME: Duration = Duration::from_secs(10);
/// The kernel takes single arguments up to 128 KiB.
const LONGEST_PLAN: usize = 120 * 1024;

/// Confines commands by the means of Linux.
#[derive(Debug)]
pub struct LinuxSandbox {
    helper: Helper,
    plan: Plan,
    proxy: Option<Arc<dyn ServeProxy>>,
    /// Names that are taken while commands run.
    missing: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    status: SandboxStatus,
    weaknesses: Vec<String>,
    leftovers: Arc<Leftovers>,
}

impl LinuxSandbox {
    /// A sandbox for `policy`. Tries first what the system has, which takes some milliseconds and blocks.
    ///
    /// # Errors
    ///
    /// When a path of the policy cannot be meant, or when the policy is [`Demand::Required`] and a part of it
    /// cannot be enforced here.
    pub fn new(policy: &SandboxPolicy, helper: Helper) -> Result<Self, ConfineError> {
        let status = probe(&helper);
        Self::with_status(policy, helper, status)
    }

    /// The same with what [`probe`] has found.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_status(
        policy: &SandboxPolicy,
        helper: Helper,
        status: SandboxStatus,
    ) -> Result<Self, ConfineError> {
        let weaknesses = status.weaknesses(policy);
        if policy.demand == Demand::Required && !weaknesses.is_empty() {
            return Err(ConfineError::new(format!(
                "the settings demand a sandbox that this system cannot make: {}",
                weaknesses.join("; ")
            )));
        }
        let (paths, mut missing) = roots::resolve(policy, &helper)?;
        for folder in &paths.guarded {
            missing.extend(MISSING.iter().map(|name| folder.join(name)));
            missing.push(folder.join(".git/hooks"));
        }
        let plan = Plan {
            namespaces: status.namespaces(),
            network: status.network(&policy.network),
            paths,
            landlock: status.landlock.is_enforced(),
            system_calls: status.system_calls.is_enforced(),
            capabilities: status.capabilities.is_enforced(),
            unix_sockets: policy.allow_unix_sockets,
        };
        let proxy = match &policy.network {
            NetworkPolicy::Proxy(proxy) => Some(Arc::clone(proxy)),
            NetworkPolicy::Open | NetworkPolicy::Off => None,
        };
        let deny_read = policy.deny_read.clone();
        Ok(Self { helper, plan, proxy, missing, deny_read, status, weaknesses, leftovers: Arc::default() })
    }

    /// What the system has.
    #[must_use]
    pub fn status(&self) -> &SandboxStatus {
        &self.status
    }

    /// What of the policy is not enforced here, each in a sentence for a person; empty where all is.
    #[must_use]
    pub fn weaknesses(&self) -> &[String] {
        &self.weaknesses
    }

    /// The names that nothing may take while a command runs.
    fn placeholders(&self) -> Vec<Placeholder> {
        if self.plan.namespaces == Namespaces::None {
            return Vec::new();
        }
        let paths = &self.plan.paths;
        let writable = paths.writable();
        let inside = self.missing.iter().filter(|path| writable.iter().any(|root| path.starts_with(root)));
        // Hooks would make a repository of what is none.
        let sensible =
            inside.filter(|path| !path.ends_with(".git/hooks") || path.with_file_name("HEAD").exists());
        sensible.filter_map(|path| Placeholder::take(path)).collect()
    }

    /// The arguments of the helper.
    fn arguments(&self, plan: &Plan, command: &CommandLine) -> Result<Vec<OsString>, ConfineError> {
        let plan = serde_json::to_string(plan)
            .map_err(|error| ConfineError::new("cannot write the plan of the sandbox").with_source(error))?;
        if plan.len() > LONGEST_PLAN {
            return Err(ConfineError::new("the sandbox has too many paths"));
        }
        let mut arguments = self.helper.leading.clone();
        arguments.extend([
            RUN.into(),
            plan.into(),
            command.directory.clone().into(),
            command.program.clone().into(),
        ]);
        arguments.extend(command.arguments.iter().cloned());
        Ok(arguments)
    }
}

impl Confine for LinuxSandbox {
    fn confine(&self, command: CommandLine) -> Result<Confined, ConfineError> {
        self.leftovers.sweep();
        let failed = |error: io::Error| {
            ConfineError::new(format!("cannot prepare the sandbox: {error}")).with_source(error)
        };
        let mut plan = self.plan.clone();
        // What came since the sandbox was made is hidden as well.
        plan.paths.hidden.extend(roots::hidden(&self.deny_read)?);
        plan.paths.hidden.sort();
        plan.paths.hidden.dedup();
        let mut served = None;
        if let (Network::Port(port), Some(proxy)) = (&mut plan.network, &self.proxy) {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
            *port = listener.local_addr().map_err(failed)?.port();
            served = Some(proxy.serve(listener).map_err(failed)?);
        }
        let arguments = self.arguments(&plan, &command)?;
        let placeholders = self.placeholders();
        let planted = match plan.namespaces {
            Namespaces::None => Planted::default(),
            Namespaces::Owned | Namespaces::Privileged => Planted::watch(&plan.paths.guarded),
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let mut run = Run::new(ours, self.proxy.clone());
        run.placeholders = placeholders;
        run.planted = planted;
        run.served = served;
        let (keep, verdict) = run.keep(&self.leftovers);
        let environment = command.environment.into_iter().map(|(name, value)| {
            let mut marked = OsString::from(VARIABLE);
            marked.push(name);
            (marked, value)
        });
        let command = CommandLine {
            program: self.helper.program.clone(),
            arguments,
            directory: PathBuf::from("/"),
            environment: environment.collect(),
            timeout: command.timeout,
        };
        Ok(Confined {
            command,
            stdin: Some(OwnedFd::from(theirs)),
            keep: Some(Box::new(keep)),
            verdict: Some(verdict),
        })
    }
}

/// Tries every layer in a helper. Blocks for some milliseconds.
#[must_use]
pub fn probe(helper: &Helper) -> SandboxStatus {
    try_probe(helper).unwrap_or_else(|error| {
        let program = helper.program.display();
        SandboxStatus::unavailable(&format!("the helper {program} gave no answer: {error}"))
    })
}

fn try_probe(helper: &Helper) -> io::Result<SandboxStatus> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PROBE_TIME))?;
    #[expect(clippy::disallowed_methods, reason = "a blocking call, before there is anything to cancel")]
    let mut command = std::process::Command::new(&helper.program);
    command.args(&helper.leading).arg(PROBE).env_clear().current_dir("/");
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // The command holds the other end, which must close with the helper.
    drop(command);
    let answer = Channel::over(ours).receive();
    child.kill()?;
    child.wait()?;
    match answer? {
        Some(Message::Found(status)) => Ok(status),
        Some(Message::Failed(message)) => Err(io::Error::other(message)),
        _ => Err(io::Error::other("it is not a helper of this version")),
    }
}
