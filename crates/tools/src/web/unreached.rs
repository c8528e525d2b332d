//! Why a server was not reached, and what to do about it.

use std::error::Error;
use std::io::{self, ErrorKind};

use crate::failure::Failure;

/// A request to `url` that ended without a response, told so that a model knows what to try next.
pub(super) fn unreached(url: &str, error: &reqwest::Error) -> Failure {
    let cause = io_cause(error);
    let (code, what) = match cause.map(io::Error::kind) {
        _ if error.is_timeout() => {
            ("timed_out", "the server did not answer; it may be down, try again later")
        }
        Some(ErrorKind::TimedOut) => {
            ("timed_out", "the server did not answer; it may be down, try again later")
        }
        Some(ErrorKind::ConnectionRefused) => {
            ("connection_refused", "nothing listens there; check host and port, or whether the server runs")
        }
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown) => {
            ("unreachable", "there is no way to that host from here; check the network")
        }
        // What TLS has to say about a server comes as invalid data, and a server without it as an end.
        Some(ErrorKind::InvalidData | ErrorKind::UnexpectedEof)
            if error.is_connect() && url.starts_with("https:") =>
        {
            ("tls_failed", "no encrypted connection could be made; certificates are always checked")
        }
        _ => ("network", "the connection failed"),
    };
    Failure::new(code, format!("cannot fetch {url}: {what} ({})", with_causes(error)))
}

/// The innermost error of the operating system, or in its clothes.
fn io_cause(error: &reqwest::Error) -> Option<&io::Error> {
    let outer = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).last()?;
    // One that carries another does not count it among its causes.
    std::iter::successors(Some(outer), |error| carried(error)).last()
}

fn carried(error: &io::Error) -> Option<&io::Error> {
    error.get_ref()?.downcast_ref()
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| <dyn Error>::source(*cause))
}

/// The error and what caused it, on one line.
pub(super) fn with_causes(error: &(dyn Error + 'static)) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
