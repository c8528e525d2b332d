//! Pages that were fetched a short while ago.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use robota_core::{Clock, Timestamp};

use super::page::Page;

/// How long a page is used again, in milliseconds.
const MAX_AGE: i64 = 15 * 60 * 1000;
const MAX_PAGES: usize = 32;
/// Bytes of text in all pages together.
const MAX_BYTES: usize = 16_000_000;

/// What an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The address without what is behind `#`, which is not sent.
    pub(super) url: String,
    /// All headers that are sent, in one order.
    pub(super) headers: Vec<(String, String)>,
}

impl Request {
    /// For an address as the model wrote it.
    pub(super) fn new(url: &str, headers: &HeaderMap) -> Self {
        let mut address = url.trim().to_owned();
        if let Ok(mut parsed) = Url::parse(&address) {
            parsed.set_fragment(None);
            address = parsed.into();
        }
        let value = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = headers.iter().map(|(name, own)| (name.to_string(), value(own))).collect();
        Self { url: address, headers }
    }

    /// Whether the model asks for what the server has now.
    fn is_for_news(&self) -> bool {
        let is_news = |name: &str, value: &str| {
            matches!(name, "cache-control" | "pragma") && value.to_ascii_lowercase().contains("no-cache")
        };
        self.headers.iter().any(|(name, value)| is_news(name, value))
    }
}

/// A page, and where it came from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// Its address after redirects.
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) page: Page,
    /// Whether it is only used again for reading on in it.
    pub(super) only_to_read_on: bool,
}

/// The pages of one session, newest last. Bounded in age, count and bytes.
pub(super) struct Cache {
    clock: Arc<dyn Clock>,
    entries: Mutex<VecDeque<Entry>>,
}

struct Entry {
    request: Request,
    fetched: Arc<Fetched>,
    since: Timestamp,
}

impl Cache {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, entries: Mutex::default() }
    }

    /// What was fetched by the same request, for its beginning or for `reading_on` in it.
    pub(super) fn get(&self, request: &Request, reading_on: bool) -> Option<Arc<Fetched>> {
        let now = self.clock.now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.is_fresh(now));
        let known = entries.iter().find(|entry| entry.request == *request)?;
        let is_used = reading_on || !(known.fetched.only_to_read_on || request.is_for_news());
        is_used.then(|| Arc::clone(&known.fetched))
    }

    pub(super) fn put(&self, request: Request, fetched: Arc<Fetched>) {
        if fetched.page.text.len() > MAX_BYTES {
            return;
        }
        let since = self.clock.now();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.is_fresh(since) && entry.request != request);
        entries.push_back(Entry { request, fetched, since });
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum();
        while bytes > MAX_BYTES || entries.len() > MAX_PAGES {
            bytes -= entries.pop_front().map_or(bytes, |entry| entry.bytes());
        }
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        self.fetched.page.text.len()
    }

    /// A clock that was set back makes a page old, not young for ever.
    fn is_fresh(&self, now: Timestamp) -> bool {
        (0..MAX_AGE).contains(&now.as_millis().saturating_sub(self.since.as_millis()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[derive(Default)]
    struct Hands(AtomicI64);

    impl Clock for Hands {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    fn request(url: &str) -> Request {
        Request { url: url.to_owned(), headers: Vec::new() }
    }

    fn fetched(text: &str) -> Arc<Fetched> {
        let page = Page {
            title: None,
            text: text.to_owned(),
            media_type: "text/plain".to_owned(),
            bytes: text.len(),
        };
        Arc::new(Fetched { url: "https://a.example/".to_owned(), status: 200, page, only_to_read_on: false })
    }

    #[test]
    fn a_page_is_kept_for_fifteen_minutes() {
        let hands = Arc::new(Hands::default());
        let cache = Cache::new(Arc::clone(&hands) as Arc<dyn Clock>);
        cache.put(request("a"), fetched("one"));
        let with_header = Request { headers: vec![("cookie".into(), "x".into())], ..request("a") };
        assert_eq!(cache.get(&with_header, false), None);
        cache.put(with_header.clone(), fetched("mine"));
        hands.0.store(MAX_AGE - 1, Ordering::Relaxed);
        assert_eq!(cache.get(&request("a"), false), Some(fetched("one")));
        assert_eq!(cache.get(&with_header, false), Some(fetched("mine")));
        cache.put(request("a"), fetched("two"));
        hands.0.store(MAX_AGE, Ordering::Relaxed);
        assert_eq!(
            (cache.get(&request("a"), false), cache.get(&with_header, false)),
            (Some(fetched("two")), None)
        );
        hands.0.store(-1, Ordering::Relaxed);
        assert_eq!(cache.get(&request("a"), false), None);
    }

    #[test]
    fn what_changes_is_kept_for_reading_on() {
        let cache = Cache::new(Arc::new(Hands::default()));
        let local = Arc::new(Fetched { only_to_read_on: true, ..Arc::into_inner(fetched("x")).unwrap() });
        cache.put(request("a"), Arc::clone(&local));
        assert_eq!((cache.get(&request("a"), false), cache.get(&request("a"), true)), (None, Some(local)));
        let news = Request { headers: vec![("cache-control".into(), "no-cache".into())], ..request("b") };
        cache.put(news.clone(), fetched("x"));
        assert_eq!((cache.get(&news, false), cache.get(&news, true)), (None, Some(fetched("x"))));
        let headers = HeaderMap::new();
        assert_eq!(
            Request::new(" HTTPS://A.example#part", &headers),
            Request::new("https://a.example/", &headers)
        );
    }

    #[test]
    fn neither_count_nor_bytes_are_without_bound() {
        let cache = Cache::new(Arc::new(Hands::default()));
        for n in 0..=MAX_PAGES {
            cache.put(request(&n.to_string()), fetched("x"));
        }
        assert_eq!(
            (cache.get(&request("0"), false), cache.get(&request("1"), false)),
            (None, Some(fetched("x")))
        );
        let large = fetched(&"x".repeat(MAX_BYTES / 2));
        cache.put(request("a"), Arc::clone(&large));
        cache.put(request("b"), large);
        assert_eq!(
            (cache.get(&request("1"), false), cache.get(&request("a"), false).is_some()),
            (None, true)
        );
        cache.put(request("c"), fetched(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(
            (cache.get(&request("a"), false).is_some(), cache.get(&request("c"), false)),
            (true, None)
        );
    }
}
