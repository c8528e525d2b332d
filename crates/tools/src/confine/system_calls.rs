//! A filter of system calls: what a sandboxed program could use to leave, or has no need of.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::plan::{Network, Plan};
use super::problem::Problem;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// Refused whatever their arguments are.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Ways around this filter, and large surfaces of the kernel.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_lookup_dcookie,
];
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] =
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib, libc::SYS_ustat, libc::SYS_sysfs];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];
/// Namespaces that `clone` makes.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Execution domains without effect on what a program may do: Linux, with 32-bit names, without random addresses, with an
/// old version number, and the question for the current one.
const PERSONALITIES: [u64; 6] = [0, 0x0008, 0x0004_0000, 0x0002_0000, 0x0002_0008, 0xffff_ffff];
/// Puts characters into a terminal's input, and pastes into the console.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// The bits of a socket's type that are not flags.
const TYPE: u64 = 0xf;
/// Connects while it sends, past the hooks of Landlock.
const MSG_FASTOPEN: u64 = 0x2000_0000;

/// Filters the system calls of this process for good.
pub(super) fn filter(plan: &Plan) -> Result<(), Problem> {
    let failed = |error: &dyn std::error::Error| Problem::because("filter system calls", error.to_string());
    let programs = programs(plan).map_err(|error| failed(&error))?;
    for program in programs {
        apply_filter(&program).map_err(|error| match error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                Problem::new("filter system calls", error)
            }
            error => failed(&error),
        })?;
    }
    Ok(())
}

fn programs(plan: &Plan) -> Built<Vec<BpfProgram>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let compile = |rules, error: libc::c_int| -> Built<BpfProgram> {
        let action = SeccompAction::Errno(error.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()
    };
    // Its flags lie in memory, where a filter cannot look; libraries take `clone` then.
    let unknown = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let mut programs = vec![compile(unknown, libc::ENOSYS)?, compile(refused(plan)?, libc::EPERM)?];
    programs.extend(other_numbers());
    Ok(programs)
}

fn refused(plan: &Plan) -> Built<Rules> {
    let whole = REFUSED.iter().chain(REFUSED_HERE);
    let mut rules: Rules = whole.map(|call| (*call, Vec::new())).collect();
    let namespaces = NAMESPACES.map(|flag| u64::from(flag.unsigned_abs()));
    let clone = namespaces.into_iter().map(|flag| rule(&[masked(0, flag, flag)?])).collect::<Built<_>>()?;
    rules.insert(libc::SYS_clone, clone);
    let odd: Built<Vec<_>> = PERSONALITIES.into_iter().map(|known| differs(0, known)).collect();
    rules.insert(libc::SYS_personality, vec![rule(&odd?)?]);
    rules.insert(libc::SYS_ioctl, vec![rule(&[equals(1, TIOCSTI)?])?, rule(&[equals(1, TIOCLINUX)?])?]);
    // Limits of another process would end it; its own are set by the number 0.
    let is_set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![rule(&[differs(0, 0)?, is_set])?]);
    rules.insert(libc::SYS_socket, refused_sockets(plan)?);
    if !plan.unix_sockets {
        // A pair of datagram sockets can be connected to others afterwards; raw ones are datagram ones.
        let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| u64::from(kind.unsigned_abs()));
        let pairs = kinds.into_iter().map(|kind| rule(&[masked(1, TYPE, kind)?])).collect::<Built<_>>()?;
        rules.insert(libc::SYS_socketpair, pairs);
    }
    if let Network::Port(_) = plan.network {
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            rules.insert(call, vec![rule(&[masked(flags, MSG_FASTOPEN, MSG_FASTOPEN)?])?]);
        }
    }
    Ok(rules)
}

/// Sockets by family, and by type and protocol where that matters.
fn refused_sockets(plan: &Plan) -> Built<Vec<SeccompRule>> {
    let number = |number: libc::c_int| u64::from(number.unsigned_abs());
    let (unix, netlink) = (number(libc::AF_UNIX), number(libc::AF_NETLINK));
    let internet = [number(libc::AF_INET), number(libc::AF_INET6)];
    let mut families = vec![differs(0, netlink)?];
    let mut refused = vec![rule(&[equals(0, netlink)?, differs(2, number(libc::NETLINK_ROUTE))?])?];
    if plan.unix_sockets {
        families.push(differs(0, unix)?);
    }
    if plan.network != Network::NoSockets {
        families.extend(internet.into_iter().map(|family| differs(0, family)).collect::<Built<Vec<_>>>()?);
    }
    refused.push(rule(&families)?);
    if let Network::Port(_) = plan.network {
        let stream = number(libc::SOCK_STREAM);
        for family in internet {
            // Anything but plain TCP is past Landlock.
            for kind in (0..=TYPE).filter(|kind| *kind != stream) {
                refused.push(rule(&[equals(0, family)?, masked(1, TYPE, kind)?])?);
            }
            let tcp = number(libc::IPPROTO_TCP);
            refused.push(rule(&[equals(0, family)?, differs(2, 0)?, differs(2, tcp)?])?);
        }
    }
    Ok(refused)
}

/// Ends a process that calls the kernel by the numbers of x32, which the rules do not know.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> Option<BpfProgram> {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const KILL_PROCESS: u32 = 0x8000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    Some(vec![
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        step(RETURN, 0, ALLOW),
        step(RETURN, 0, KILL_PROCESS),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> Option<BpfProgram> {
    None
}

fn rule(conditions: &[SeccompCondition]) -> Built<SeccompRule> {
    SeccompRule::new(conditions.to_vec())
}

fn equals(argument: u8, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), value)
}
