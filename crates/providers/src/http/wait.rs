//! How long a server asks to wait, in any of the ways servers say it.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use robota_core::{Clock, SystemClock};

/// The pause the server asks for: `retry-after-ms`, `retry-after` in seconds or as a date, or the
/// time at which an exhausted limit is filled up again.
pub(crate) fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let now = || date(headers, DATE.as_str()).unwrap_or_else(machine_time);
    milliseconds(headers)
        .or_else(|| seconds(text(headers, RETRY_AFTER.as_str())?))
        .or_else(|| Some(until(date(headers, RETRY_AFTER.as_str())?, now())))
        .or_else(|| reset(headers, now))
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
/// (`anthropic-ratelimit-tokens-reset: 2026-11-21T22:48:00Z`) or OpenAI
/// (`x-ratelimit-reset-tokens: 6m0s`).
fn reset(headers: &HeaderMap, now: impl Fn() -> Timestamp) -> Option<Duration> {
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

    fn wait(headers: &[(&str, &str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap())
        });
        requested_wait(&headers.collect())
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
