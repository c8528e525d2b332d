//! The program that confines itself and becomes the command.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use rustix::stdio::{dup2_stdin, stdin};

use super::channel::{Channel, Message};
use super::plan::{Namespaces, Network, Paths, Plan};
use super::policy::HelperEnd;
use super::problem::{Doing, Problem};
use super::status::{Layer, SandboxStatus};
use super::{capabilities, landlocked, mounts, namespaces, network, system_calls};

pub(super) const RUN: &str = "run";
pub(super) const PROBE: &str = "probe";
/// Stands before the names of the command's variables, so that none of them has a meaning for the helper.
pub(super) const VARIABLE: &str = "confined:";

/// Confines this process as `arguments` say, and becomes the command that they name; returns only when that is
/// not possible, with what to print and the code to exit with.
///
/// The host calls this with the arguments behind [`Helper::leading`](super::Helper::leading), first thing in
/// `main`: before another thread is started, and before any file is opened, as all are closed.
#[must_use]
pub fn helper_main(arguments: impl IntoIterator<Item = OsString>) -> HelperEnd {
    close_inherited();
    let mut channel = match host_channel() {
        Ok(channel) => channel,
        Err(problem) => {
            return HelperEnd::failed(format!("this is started by the sandbox, not by people: {problem}"));
        }
    };
    let mut arguments = arguments.into_iter();
    let result = match arguments.next() {
        Some(mode) if mode == RUN => run(&mut channel, arguments),
        Some(mode) if mode == PROBE => match channel.send(&Message::Found(try_layers())) {
            Ok(()) => return HelperEnd { message: None, code: 0 },
            Err(error) => Err(Problem::new("answer", error)),
        },
        _ => Err(Problem::because("understand its arguments", "they are of another version")),
    };
    let Err(problem) = result;
    let message = problem.to_string();
    // The host learns it from the exit code and the output otherwise.
    let _told_or_gone = channel.send(&Message::Failed(message.clone()));
    HelperEnd::failed(format!("sandbox: {message}"))
}

fn run(
    channel: &mut Channel,
    mut arguments: impl Iterator<Item = OsString>,
) -> Result<std::convert::Infallible, Problem> {
    let mut next =
        || arguments.next().ok_or_else(|| Problem::because("understand its arguments", "some are missing"));
    let (plan, directory, program) = (next()?, next()?, next()?);
    let plan: Plan = serde_json::from_slice(plan.as_bytes()).doing(|| "understand its plan".into())?;
    let variables = variables();
    let proxy = confine(&plan, Path::new(&directory), channel)?;
    let mount_namespace = match plan.namespaces {
        Namespaces::None => None,
        Namespaces::Owned | Namespaces::Privileged => namespaces::mount_namespace().ok(),
    };
    channel.send(&Message::Confined { mount_namespace }).doing(|| "answer".into())?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this process becomes the program, in the group that the host made"
    )]
    let mut command = std::process::Command::new(&program);
    command.args(arguments).env_clear().envs(variables);
    if let Some(port) = proxy {
        command.envs(proxy_variables(port));
    }
    let error = command.exec();
    Err(Problem::new(format!("start {}", Path::new(&program).display()), error))
}

/// Applies every layer of `plan`; the port of the proxy, when there is one.
fn confine(plan: &Plan, directory: &Path, channel: &mut Channel) -> Result<Option<u16>, Problem> {
    namespaces::enter(plan.namespaces)?;
    let proxy = match plan.network {
        Network::Open | Network::NoSockets => None,
        Network::Port(port) => Some(port),
        Network::Loopback => {
            network::enter()?;
            None
        }
        Network::ServedLoopback => {
            network::enter()?;
            Some(listen(channel)?)
        }
    };
    if plan.namespaces != Namespaces::None {
        mounts::apply(&plan.paths)?;
    }
    // Also when it is there already: the folder it stands in is one of the mounts from before.
    std::env::set_current_dir(directory).doing(|| format!("enter {}", directory.display()))?;
    if plan.capabilities {
        capabilities::give_up()?;
    }
    if plan.landlock {
        landlocked::restrict(plan)?;
    }
    if plan.system_calls {
        system_calls::filter(plan)?;
    }
    Ok(proxy)
}

/// Listens where only the command can connect to, and has the host serve it.
fn listen(channel: &mut Channel) -> Result<u16, Problem> {
    let doing = || "listen for its proxy".to_owned();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing(doing)?;
    let port = listener.local_addr().doing(doing)?.port();
    channel.send_with(&Message::Listening, listener.as_fd()).doing(doing)?;
    match channel.receive().doing(doing)? {
        Some(Message::Serving) => Ok(port),
        Some(Message::Failed(reason)) => Err(Problem::because("use the proxy", reason)),
        _ => Err(Problem::because("use the proxy", "the host gave no answer")),
    }
}

/// Tries one layer after the other on this process.
fn try_layers() -> SandboxStatus {
    let layer = |tried: Result<(), Problem>| match tried {
        Ok(()) => Layer::Enforced,
        Err(problem) => Layer::unavailable(problem.to_string()),
    };
    let mut plan = Plan {
        namespaces: Namespaces::Owned,
        network: Network::Open,
        paths: Paths::default(),
        landlock: true,
        system_calls: true,
        capabilities: true,
        unix_sockets: false,
    };
    let before = namespaces::user_namespace().ok();
    let owned = namespaces::enter(Namespaces::Owned);
    let entered = match &owned {
        // A namespace without ids is of no use, and what works in it would not work outside of it.
        Err(problem) if namespaces::user_namespace().ok() != before => {
            Err(Problem::because("use a user namespace", problem.to_string()))
        }
        Err(_) => namespaces::enter(Namespaces::Privileged),
        Ok(()) => Ok(()),
    };
    let some_folder = ["/dev/shm", "/tmp"].map(PathBuf::from).into_iter().find(|folder| folder.is_dir());
    plan.paths.scratch.extend(some_folder);
    let mounts = entered.and_then(|()| mounts::apply(&plan.paths));
    let network_namespace = match mounts {
        Ok(()) => layer(network::enter()),
        Err(_) => Layer::unavailable("it needs the namespace of mounts"),
    };
    let capabilities = layer(capabilities::give_up());
    plan.network = Network::NoSockets;
    let landlock = landlocked::restrict(&plan);
    let landlock_abi = landlock.as_ref().copied().unwrap_or(0);
    SandboxStatus {
        mounts: layer(mounts),
        user_namespace: layer(owned),
        network_namespace,
        landlock: layer(landlock.map(|_| ())),
        landlock_abi,
        system_calls: layer(system_calls::filter(&plan)),
        capabilities,
    }
}

/// Closes what was open before this program started: a folder among it would lead out.
fn close_inherited() {
    let open: Vec<i32> = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => {
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        }
        Err(_) => (0..4096).collect(),
    };
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The listing's own is closed already.
        let _closed_or_gone = nix::unistd::close(descriptor);
    }
}

/// The host's socket, which is standard input; nothing is from now on.
fn host_channel() -> Result<Channel, Problem> {
    let doing = || "take its standard input".to_owned();
    let socket: OwnedFd = stdin().try_clone_to_owned().doing(doing)?;
    rustix::net::sockopt::socket_type(&socket).doing(doing)?;
    let nothing = fs::File::open("/dev/null").doing(doing)?;
    dup2_stdin(&nothing).doing(doing)?;
    Ok(Channel::over(UnixStream::from(socket)))
}

/// The variables of the command.
fn variables() -> Vec<(OsString, OsString)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the variables of the helper are those that its host gave it"
    )]
    let given = std::env::vars_os();
    given.filter_map(|(name, value)| Some((command_name(&name)?, value))).collect()
}

fn command_name(name: &OsStr) -> Option<OsString> {
    let name = name.as_bytes().strip_prefix(VARIABLE.as_bytes())?;
    Some(OsString::from_vec(name.to_vec()))
}

/// What the usual programs learn the proxy by.
fn proxy_variables(port: u16) -> Vec<(&'static str, String)> {
    let address = format!("http://127.0.0.1:{port}");
    let proxied = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let direct = ["NO_PROXY", "no_proxy"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
    proxied.map(|name| (name, address.clone())).into_iter().chain(direct).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_variables_reach_the_command() {
        assert_eq!(command_name(OsStr::new("confined:PATH")), Some("PATH".into()));
        assert_eq!(command_name(OsStr::new("LD_PRELOAD")), None);
    }

    #[test]
    fn io_errors_name_what_was_tried() {
        let error = Problem::new("answer", std::io::Error::from_raw_os_error(32));
        assert_eq!(error.to_string(), "cannot answer: Broken pipe (os error 32)");
    }
}
