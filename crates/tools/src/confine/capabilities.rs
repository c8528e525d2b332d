//! Giving up capabilities.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities,
};

use super::problem::{Doing, Problem};

/// Gives up every capability, also what a program of the superuser would get back when it starts.
pub(super) fn give_up() -> Result<(), Problem> {
    for number in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(Errno::INVAL) => break,
            // Who has no capabilities cannot give up those that it might get, and gets none any more either.
            Err(Errno::PERM) => break,
            Err(error) => return Err(Problem::new("give up capabilities", error)),
        }
    }
    // Not known by the oldest kernels, where the next step clears the set as well.
    let _cleared_or_unknown = clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).doing(|| "give up capabilities".into())
}
