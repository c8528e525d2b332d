//! What the names of hosts stand for: a port, the system's own service, and a table.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt as _};

use super::form;

/// Says which addresses a host has.
///
/// [`AddressPolicy`](super::AddressPolicy) asks once for each request, judges every address of the answer, and lets
/// the request go to these addresses only: an answer that is another one the next time changes nothing.
pub trait NameService: Send + Sync {
    /// The addresses of `host`, a name in lower case and ASCII, never an address. It may end in a dot.
    ///
    /// # Errors
    ///
    /// When the name cannot be looked up or is not known. An answer without any address is no error here.
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The names as the operating system knows them: its hosts file, its name servers.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SystemNames;

impl NameService for SystemNames {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move { Ok(tokio::net::lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) }
            .boxed()
    }
}

/// Names with fixed answers: nothing is asked of any network.
///
/// Each name has the answers of its first, second and further look-up; when they run out, the last one repeats. A
/// name that is not in the table is not known.
#[derive(Debug, Default)]
pub struct TableNames {
    hosts: Mutex<BTreeMap<String, Answers>>,
}

#[derive(Debug, Default)]
struct Answers {
    answers: Vec<Vec<IpAddr>>,
    /// How many were given.
    given: usize,
}

impl TableNames {
    /// A table of names and their successive answers. Names are compared as in addresses: without regard to upper
    /// and lower case and a dot at the end, international ones in either form.
    #[must_use]
    pub fn new(hosts: BTreeMap<String, Vec<Vec<IpAddr>>>) -> Self {
        let mut table: BTreeMap<String, Answers> = BTreeMap::new();
        for (host, answers) in hosts {
            table.entry(key(&host)).or_default().answers.extend(answers);
        }
        Self { hosts: Mutex::new(table) }
    }

    fn next_answer(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = hosts.get_mut(&key(host)) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name is not known"));
        };
        let answer = known.answers.get(known.given).or(known.answers.last());
        known.given += 1;
        Ok(answer.cloned().unwrap_or_default())
    }
}

impl NameService for TableNames {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        std::future::ready(self.next_answer(host)).boxed()
    }
}

/// A host as the table has it.
fn key(host: &str) -> String {
    let canonical = form::canonical_host(host).unwrap_or_else(|| host.to_lowercase());
    canonical.strip_suffix('.').map(str::to_owned).unwrap_or(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_come_in_order_and_the_last_repeats() {
        let answers = ["1.1.1.1", "127.0.0.1"].map(|text| vec![text.parse::<IpAddr>().unwrap()]);
        let table = TableNames::new(BTreeMap::from([
            ("Rebind.Example".to_owned(), answers.to_vec()),
            ("bücher.example.".to_owned(), vec![answers[0].clone()]),
            ("empty.example".to_owned(), Vec::new()),
        ]));
        for expected in [0, 1, 1] {
            assert_eq!(table.look_up("rebind.example").await.unwrap(), answers[expected]);
        }
        assert_eq!(table.look_up("rebind.example.").await.unwrap(), answers[1]);
        assert_eq!(table.look_up("xn--bcher-kva.example").await.unwrap(), answers[0]);
        assert_eq!(table.look_up("empty.example").await.unwrap(), Vec::<IpAddr>::new());
        assert_eq!(table.look_up("other.example").await.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
