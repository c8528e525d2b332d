//! The Linux sandbox around Bash.
//!
//! A confined command sees the file system as it is, but writes only in the folders of its
//! [`SandboxPolicy`]; files that would change what runs later (hooks, settings, editor tasks) stay as they are
//! in these folders too, the names of the most usual ones even where they do not exist yet. It reaches the
//! network not at all, through a proxy of the host, or freely, and nothing of the processes outside.
//!
//! [`LinuxSandbox`] implements [`Confine`](crate::process::Confine): in the place of a command it starts a
//! *helper*, which is the host's own program called with a hidden argument. The helper has one thread, confines
//! itself in layers (namespaces with read-only mounts, capabilities, Landlock, seccomp) and then becomes the
//! command. [`helper_main`] is what the host calls for it, first thing in `main`. When a layer fails that was
//! there before, the command does not run.
//!
//! Which layers a system has is found out by trying them in a helper ([`probe`]); what is missing is told
//! ([`SandboxStatus`], [`LinuxSandbox::weaknesses`]), or refused with [`Demand::Required`].

mod policy;
mod status;

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod enforceable;
#[cfg(target_os = "linux")]
mod guarded;
#[cfg(target_os = "linux")]
mod helper_program;
#[cfg(target_os = "linux")]
mod kept_run;
#[cfg(target_os = "linux")]
mod landlocked;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod placeholder;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod planted;
#[cfg(target_os = "linux")]
mod problem;
#[cfg(target_os = "linux")]
mod roots;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod survivors;
#[cfg(target_os = "linux")]
mod system_calls;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{LinuxSandbox, helper_main, probe};
#[cfg(target_os = "linux")]
pub use helper_program::helper_main;
pub use policy::{Demand, Helper, HelperEnd, NetworkPolicy, SandboxPolicy, ServeProxy};
#[cfg(target_os = "linux")]
pub use sandbox::{LinuxSandbox, probe};
pub use status::{Layer, SandboxStatus};
