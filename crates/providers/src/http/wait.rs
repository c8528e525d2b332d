//! How long a server asks to wait, in any of the ways servers say it.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use robota_core::{Clock, SystemClock};

/// The pause that a refusal with `status` asks for: `retry-after-ms`, `retry-after` in seconds or as a date, or
/// the time at which an exhausted limit is filled up again. Limits count only where they can be the reason: every
/// answer tells them.
pub(crate) fn requested_wait(status: u16, headers: &HeaderMap) -> Option<Duration> {
    let now = || date(headers, DATE.as_str()).unwrap_or_else(machine_time);
    milliseconds(headers)
        .or_else(|| seconds(text(headers, RETRY_AFTER.as_str())?))
        .or_else(|| Some(until(date(headers, RETRY_AFTER.as_str())?, now())))
        .or_else(|| matches!(status, 429 | 503 | 529).then(|| reset(headers, now))?)
}

/// Whether the same request may succeed a little later, where the server says so itself (`x-should-retry`).
pub(crate) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match text(headers, "x-should-retry")? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn milliseconds(headers: &HeaderMap) -> Option<Duration> {
    text(headers, "retry-after-ms")?.parse::<f64>().ok().and_then(|millis| positive(millis / 1000.0))
}

fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(positive)
}

fn positive(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// A date as HTTP writes it, or as RFC 3339.
fn date(headers: &HeaderMap, name: &str) -> Option<Timestamp> {
    let text = text(headers, name)?;
    let http = jiff::fmt::rfc2822::parse(text).map(|date| date.timestamp());
    http.or_else(|_| text.parse()).ok()
}

/// The time of this machine, used only when the server does not tell its own.
fn machine_time() -> Timestamp {
    Timestamp::from_millisecond(SystemClock.now().as_millis()).unwrap_or_default()
}

fn until(then: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default()
}

/// The longest time until one of the used-up limits is filled again, from the headers of Anthropic
/// (`anthropic-ratelimit-tokens-reset: 2026-11-21T22:48:00Z`), OpenAI (`x-ratelimit-reset-tokens: 6m0s`) or
/// `OpenRouter` (`x-ratelimit-reset: 1795301280000`).
fn reset(headers: &HeaderMap, now: impl Fn() -> Timestamp) -> Option<Duration> {
    if let Some(then) = the_one_limit(headers) {
        return Some(until(then, now()));
    }
    let used_up = headers.keys().filter_map(|name| {
        let name = name.as_str();
        let of_anthropic = name.starts_with("anthropic-ratelimit-") && name.ends_with("-remaining");
        let reset = if of_anthropic {
            name.replace("-remaining", "-reset")
        } else {
            name.strip_prefix("x-ratelimit-remaining-").map(|limit| format!("x-ratelimit-reset-{limit}"))?
        };
        (text(headers, name) == Some("0")).then_some(reset)
    });
    used_up
        .filter_map(|name| {
            date(headers, &name).map(|then| until(then, now())).or_else(|| span(text(headers, &name)?))
        })
        .max()
}

/// When the only limit of a service is filled again, in milliseconds or seconds since 1970, where it is used up.
fn the_one_limit(headers: &HeaderMap) -> Option<Timestamp> {
    /// A number that is in 1973 as milliseconds and in the year 5138 as seconds.
    const MILLISECONDS_FROM: i64 = 100_000_000_000;
    text(headers, "x-ratelimit-remaining").is_none_or(|left| left == "0").then_some(())?;
    match text(headers, "x-ratelimit-reset")?.parse().ok()? {
        millis @ MILLISECONDS_FROM.. => Timestamp::from_millisecond(millis).ok(),
        // Smaller numbers are seconds from now on some servers.
        seconds @ 1_000_000_000.. => Timestamp::from_second(seconds).ok(),
        _ => None,
    }
}

/// A span such as `1s`, `6m0s`, `120ms` or `1h30m0.5s`.
fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, after) = rest.split_at(number);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        total += value.parse::<f64>().ok()?
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = after;
    }
    (!text.is_empty()).then(|| positive(total))?
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap())
        });
        headers.collect()
    }

    fn wait(headers: &[(&str, &str)]) -> Option<Duration> {
        requested_wait(429, &map(headers))
    }

    #[test]
    fn every_way_to_ask_for_a_pause_is_understood() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait(&[("retry-after", "7")]), seconds(7));
        assert_eq!(
            wait(&[("retry-after-ms", "1500"), ("retry-after", "2")]),
            Some(Duration::from_millis(1500))
        );
        let date = ("date", "Sat, 21 Nov 2026 22:48:00 GMT");
        assert_eq!(wait(&[date, ("retry-after", "Sat, 21 Nov 2026 22:48:30 GMT")]), seconds(30));
        assert_eq!(wait(&[date, ("retry-after", "Sat, 21 Nov 2026 22:47:00 GMT")]), seconds(0));
        let anthropic = [
            date,
            ("anthropic-ratelimit-requests-remaining", "4"),
            ("anthropic-ratelimit-requests-reset", "2026-11-21T23:48:00Z"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-21T22:48:12Z"),
        ];
        assert_eq!(wait(&anthropic), seconds(12));
        let openai = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")];
        assert_eq!(wait(&openai), seconds(360));
        let spans = [("1m12s", 72_000), ("6ms", 6), ("2m59.56s", 179_560)];
        for (span, millis) in spans {
            let openai = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", span)];
            assert_eq!(wait(&openai), Some(Duration::from_millis(millis)), "{span}");
        }
        // 22:48:20 on the same day.
        let openrouter = [date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1795301300000")];
        assert_eq!(wait(&openrouter), seconds(20));
        let in_seconds = [date, ("x-ratelimit-reset", "1795301300")];
        assert_eq!(wait(&in_seconds), seconds(20));
        let some_left = [date, ("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "1795301300000")];
        assert_eq!(wait(&some_left), None);
    }

    #[test]
    fn limits_count_only_where_they_can_be_the_reason_and_a_server_may_say_no() {
        let headers = map(&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1s")]);
        let waits = [429, 503, 529, 400, 500].map(|status| requested_wait(status, &headers).is_some());
        assert_eq!(waits, [true, true, true, false, false]);
        assert_eq!(requested_wait(500, &map(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        let said = ["true", "false", "maybe"].map(|said| should_retry(&map(&[("x-should-retry", said)])));
        assert_eq!(said, [Some(true), Some(false), None]);
    }

    #[test]
    fn nonsense_asks_for_nothing() {
        for value in ["", "soon", "-3", "1e400", "NaN"] {
            assert_eq!(wait(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(
            wait(&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6 weeks")]),
            None
        );
        assert_eq!(span("1h30m0.5s"), Some(Duration::from_millis(5_400_500)));
        assert_eq!(span("120ms"), Some(Duration::from_millis(120)));
    }
}
