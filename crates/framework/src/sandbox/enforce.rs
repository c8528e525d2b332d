//! What the system enforces of a plan.

use std::path::Path;
use std::sync::Arc;

use robota_tools::confine::{
    Demand, Helper, LinuxSandbox, NetworkPolicy, SandboxPolicy, SandboxStatus, probe,
};
use robota_tools::process::ConfineError;
use robota_tools::{AddressPolicy, DomainAllowList, NetworkProxy, SystemNames};

use super::proxy::ServedProxy;
use super::{SandboxPlan, SandboxState};
use crate::settings::SandboxNetwork;

/// The argument by which the program becomes the helper of the sandbox: the first one, and then those of
/// [`robota_tools::confine::helper_main`].
pub const SANDBOX_HELPER_ARGUMENT: &str = "__sandbox";

/// Tries what the plan asks for with `program` as the helper.
pub(super) fn enforce(plan: &SandboxPlan, program: &Path) -> SandboxState {
    match sandbox(plan, program) {
        Ok(sandbox) => {
            let weaknesses = sandbox.weaknesses().to_vec();
            SandboxState::On { confine: Arc::new(sandbox), weaknesses }
        }
        Err(error) if plan.demanded => SandboxState::Unavailable { reason: error.to_string() },
        // What the system lacks is a weakness; this is a setting that cannot be followed.
        Err(error) => SandboxState::Refused { reason: error.to_string() },
    }
}

/// What the layers of the sandbox are on this system. Blocks for some milliseconds.
#[must_use]
pub fn system_status(program: &Path) -> SandboxStatus {
    probe(&helper(program))
}

fn helper(program: &Path) -> Helper {
    Helper { program: program.to_owned(), leading: vec![SANDBOX_HELPER_ARGUMENT.into()] }
}

fn sandbox(plan: &SandboxPlan, program: &Path) -> Result<LinuxSandbox, ConfineError> {
    let mut policy = SandboxPolicy::new(plan.writable.clone());
    policy.scratch.clone_from(&plan.scratch);
    policy.deny_write.clone_from(&plan.deny_write);
    policy.deny_read.clone_from(&plan.deny_read);
    policy.allow_unix_sockets = plan.allow_unix_sockets;
    policy.network = match &plan.network {
        SandboxNetwork::Off => NetworkPolicy::Off,
        SandboxNetwork::Open => NetworkPolicy::Open,
        SandboxNetwork::Domains(domains) => NetworkPolicy::Proxy(Arc::new(ServedProxy::new(proxy(domains)?))),
    };
    if plan.demanded {
        policy.demand = Demand::Required;
    }
    LinuxSandbox::new(&policy, helper(program))
}

/// The way to `domains`, at their public addresses.
fn proxy(domains: &[String]) -> Result<NetworkProxy, ConfineError> {
    let allow = DomainAllowList::new(domains)
        .map_err(|error| ConfineError::new(format!("the allowed domains cannot be used: {error}")))?;
    Ok(NetworkProxy::new(allow, &AddressPolicy::default(), Arc::new(SystemNames::default())))
}
