//! Landlock: the kernel refuses changes that are not beneath given folders.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};

use super::plan::{Network, Plan};
use super::problem::Problem;

/// The newest interface that was tried; older kernels enforce less.
const NEWEST: ABI = ABI::V7;
/// Devices that every program may write to.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Restricts this process for good, and says which version of the interface did it.
pub(super) fn restrict(plan: &Plan) -> Result<u8, Problem> {
    let restricted = restrict_by(plan)
        .map_err(|error| Problem::because("restrict itself by Landlock", error.to_string()))?;
    match (restricted.ruleset, restricted.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err(Problem::because("use Landlock", "it is not enabled in this kernel"))
        }
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => Ok(effective_abi as u8),
        _ => Err(Problem::because("use Landlock", "this kernel does not have it")),
    }
}

fn restrict_by(plan: &Plan) -> Result<RestrictionStatus, RulesetError> {
    let write = AccessFs::from_write(NEWEST);
    let mut rules = Ruleset::default().handle_access(write)?.scope(Scope::from_all(NEWEST))?;
    if let Network::NoSockets | Network::Port(_) = plan.network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = rules.create()?;
    if let Network::Port(port) = plan.network {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    let in_folders = write & !(AccessFs::IoctlDev | AccessFs::MakeChar | AccessFs::MakeBlock);
    for root in plan.paths.writable() {
        rules = allow(rules, root, in_folders)?;
    }
    for device in DEVICES.map(PathBuf::from) {
        rules = allow(rules, &device, AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev)?;
    }
    rules.restrict_self()
}

/// Allows `access` beneath `path`; what does not exist or is out of reach needs no rule.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(file, access))
}
