//! A network namespace with a loopback.

use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

use super::problem::{Doing, Problem};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
/// The loopback is always the first.
const LOOPBACK: i32 = 1;

/// Enters a network of its own, whose loopback is up.
pub(super) fn enter() -> Result<(), Problem> {
    unshare(CloneFlags::CLONE_NEWNET).doing(|| "make a network namespace".into())?;
    raise_loopback().doing(|| "start the loopback".into())
}

fn raise_loopback() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &raise_message(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0u8; 1024];
    let (count, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    let answer = answer.get(..count).unwrap_or_default();
    // Behind the header of 16 bytes, whose type comes after four, stands the error, negative.
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        _ => Err(io::Error::other("the kernel gave an answer of another form")),
    }
}

/// The request to set a link up: `nlmsghdr`, then `ifinfomsg`.
fn raise_message() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend([0u8, 0]);
    body.extend(0u16.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    let mut message = Vec::new();
    message.extend(32u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    message.extend(1u32.to_ne_bytes());
    message.extend(0u32.to_ne_bytes());
    message.extend(body);
    message
}
