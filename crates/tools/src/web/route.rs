//! From redirect to redirect: how a request goes on, and what a whole route comes to.

use std::collections::HashMap;

use reqwest::Url;
use serde::Deserialize;

use super::address::{AddressPolicy, Destination, Refused};
use super::form;
use super::names::NameService;

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 10;

/// A server's answer that may send a client on.
#[derive(Clone, Debug, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "plain data that callers write out")]
pub struct Redirect {
    /// The address that is answered so; compared as it is understood, without what is behind `#`.
    pub from: String,
    /// HTTP status; 301, 302, 303, 307 and 308 send on.
    pub status: u16,
    /// Where to, also relative to `from`; without it, no client is sent on.
    #[serde(default)]
    pub location: Option<String>,
}

/// Whether a route may be taken to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RouteVerdict {
    /// True when every address on the way may be reached.
    pub allowed: bool,
    /// The first address that may not, or where the route ends.
    pub reason: String,
}

/// Follows `redirects` from `url` on and judges every request on the way as WebFetch does before it sends one. Nothing
/// is fetched; names are looked up in `names`, once for each request.
///
/// Several answers of one address are given in their order, and the last one repeats. Answers of addresses that are
/// not on the way do not count. WebFetch itself follows redirects within a site and tells the model about others:
/// here all are followed, as if the model did.
pub async fn check_route(
    policy: &AddressPolicy,
    url: &str,
    names: &dyn NameService,
    redirects: &[Redirect],
) -> RouteVerdict {
    let mut answers = Answers::of(redirects);
    let mut steps = Steps::default();
    let mut hop = match policy.judge(url, names).await {
        Ok(hop) => hop,
        Err(refused) => return RouteVerdict { allowed: false, reason: refused.to_string() },
    };
    while let Some(answer) = answers.of_address(hop.parsed()) {
        let next = match steps.next(hop.parsed(), answer.status, answer.location.as_deref()) {
            Ok(Some(next)) => policy.destination(next, names).await,
            Ok(None) => break,
            Err(refused) => Err(refused),
        };
        hop = match next {
            Ok(next) => next,
            Err(refused) => {
                let reason = format!("redirect {} ({}): {refused}", steps.taken, answer.status);
                return RouteVerdict { allowed: false, reason };
            }
        };
    }
    RouteVerdict { allowed: true, reason: arrival(&hop, steps.taken) }
}

/// Counts redirects and works out where they lead. Whether that may be reached is the policy's to say.
#[derive(Debug, Default)]
pub(super) struct Steps {
    taken: usize,
}

impl Steps {
    /// Where an answer of `from` sends the client; `None` when the answer is the end.
    pub(super) fn next(
        &mut self,
        from: &Url,
        status: u16,
        location: Option<&str>,
    ) -> Result<Option<Url>, Refused> {
        let redirects = matches!(status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = location.filter(|_| redirects) else { return Ok(None) };
        self.taken += 1;
        if self.taken > MAX_REDIRECTS {
            return Err(Refused::TooManyRedirects { limit: MAX_REDIRECTS });
        }
        form::parse(location, Some(from)).map(Some)
    }
}

/// The answers of each address, and how many of them were given.
struct Answers<'a> {
    answers: HashMap<String, (Vec<&'a Redirect>, usize)>,
}

impl<'a> Answers<'a> {
    fn of(redirects: &'a [Redirect]) -> Self {
        let mut answers: HashMap<String, (Vec<_>, usize)> = HashMap::new();
        for redirect in redirects {
            // What is no address is never on the way.
            if let Ok(from) = form::parse(&redirect.from, None) {
                answers.entry(without_fragment(&from)).or_default().0.push(redirect);
            }
        }
        Self { answers }
    }

    fn of_address(&mut self, url: &Url) -> Option<&'a Redirect> {
        let (answers, given) = self.answers.get_mut(&without_fragment(url))?;
        let answer = answers.get(*given).or(answers.last()).copied();
        *given += 1;
        answer
    }
}

fn without_fragment(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.into()
}

fn arrival(hop: &Destination, redirects: usize) -> String {
    let way = match redirects {
        0 => String::new(),
        1 => "after 1 redirect, ".to_owned(),
        more => format!("after {more} redirects, "),
    };
    let host = hop.host();
    let addresses: Vec<_> = hop.addresses().iter().map(|address| address.ip().to_string()).collect();
    let (is, are) = match (form::literal(host), addresses.len()) {
        (Some(_), _) => ("is".to_owned(), ""),
        (None, 1) => (format!("is at {}, which is", addresses.concat()), ""),
        (None, _) => (format!("is at {}, which are", addresses.join(", ")), " all"),
    };
    let is_public = hop.is_public();
    let what = if is_public { "public" } else { "not public; the user allows this host" };
    format!("{way}{host} {is}{} {what}", if is_public { are } else { "" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::IpAddr;

    use super::*;
    use crate::web::names::TableNames;

    fn names() -> TableNames {
        let public: IpAddr = "93.184.216.34".parse().unwrap();
        TableNames::new(BTreeMap::from([
            ("a.example".to_owned(), vec![vec![public]]),
            ("b.example".to_owned(), vec![vec![public]]),
            ("rebind.example".to_owned(), vec![vec![public], vec!["10.0.0.1".parse().unwrap()]]),
        ]))
    }

    /// From, status, location.
    type Answer<'a> = (&'a str, u16, &'a str);

    async fn follow(url: &str, redirects: &[Answer<'_>]) -> RouteVerdict {
        let redirect = |&(from, status, location): &Answer<'_>| Redirect {
            from: from.to_owned(),
            status,
            location: Some(location.to_owned()),
        };
        let redirects: Vec<_> = redirects.iter().map(redirect).collect();
        check_route(&AddressPolicy::default(), url, &names(), &redirects).await
    }

    #[tokio::test]
    async fn a_route_is_as_good_as_its_worst_hop() {
        let cases: [(&str, &[Answer<'_>], bool, &str); 13] = [
            ("https://a.example", &[], true, "a.example is at 93.184.216.34"),
            (
                "https://a.example/x?y#z",
                &[("https://A.example:443/x?y", 301, "../w"), ("https://a.example/w", 308, "//b.example")],
                true,
                "after 2 redirects, b.example is at 93.184.216.34",
            ),
            ("https://a.example/", &[("https://a.example/", 302, "http://b.example/")], true, "b.example"),
            ("https://a.example/", &[("https://b.example/", 302, "http://10.0.0.1/")], true, "a.example is"),
            ("https://a.example/", &[("https://a.example/", 304, "http://10.0.0.1/")], true, "a.example is"),
            ("https://a.example/", &[("no address", 302, "http://10.0.0.1/")], true, "a.example is"),
            (
                "https://a.example/",
                &[("https://a.example/", 307, "http://169.254.169.254/latest")],
                false,
                "redirect 1 (307): 169.254.169.254 is the address of a cloud's metadata service",
            ),
            ("https://a.example/", &[("https://a.example/", 302, "file:///etc/passwd")], false, "`file:`"),
            ("https://a.example/", &[("https://a.example/", 302, "//u:p@b.example/")], false, "password"),
            ("https://a.example/", &[("https://a.example/", 302, "http://[::1")], false, "not a web address"),
            ("https://a.example/", &[("https://a.example/", 302, "/\\b.example/")], false, "a backslash"),
            (
                "https://a.example/",
                &[
                    ("https://a.example/", 302, "http://b.example/"),
                    ("http://b.example/", 302, "https://a.example/"),
                ],
                false,
                "redirect 11 (302): more than 10 redirects",
            ),
            (
                "https://rebind.example/",
                &[("https://rebind.example/", 302, "/again")],
                false,
                "redirect 1 (302): rebind.example is at 10.0.0.1, a private address",
            ),
        ];
        for (url, redirects, allowed, reason) in cases {
            let verdict = follow(url, redirects).await;
            assert_eq!(verdict.allowed, allowed, "{url} {redirects:?}: {verdict:?}");
            assert!(verdict.reason.contains(reason), "{url} {redirects:?}: {verdict:?}");
        }
    }

    #[tokio::test]
    async fn an_address_may_answer_differently_the_next_time() {
        let home = "https://a.example/";
        let once = [(home, 302, home), (home, 200, "")];
        assert_eq!(
            follow(home, &once).await.reason,
            "after 1 redirect, a.example is at 93.184.216.34, which is public"
        );
        let always = [(home, 302, home)];
        assert!(!follow(home, &always).await.allowed);
        let ten: Vec<_> = std::iter::repeat_n((home, 302, home), 10).chain([(home, 200, "")]).collect();
        assert!(follow(home, &ten).await.allowed);
    }
}
