//! Faults of services, dealt with in one place, around whatever provider: nobody else tries a call again.
//!
//! From the inside out: a [`CircuitBreaker`] spares calls to an endpoint that is dead, [`Retrying`] makes failed
//! calls again, and a [`Fallback`] asks other models when one does not answer at all. Each is a provider around a
//! provider, so that a program can leave out what it does not want.

mod circuit;
mod fallback;
mod policy;
mod retrying;
mod visible;

pub use circuit::{CircuitBreaker, CircuitPolicy};
pub use fallback::{Fallback, FallbackPolicy};
pub use policy::RetryPolicy;
pub use retrying::Retrying;
