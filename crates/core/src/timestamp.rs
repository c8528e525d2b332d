//! Points in time as the log and the wire carry them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time with millisecond precision.
///
/// On disk and on the wire it is an RFC 3339 string in UTC with exactly three fraction digits
/// (`2026-11-21T22:48:00.000Z`), as in the records of seed `000`. Integers are read as
/// milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time `millis` milliseconds after the Unix epoch (before it, when negative).
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// The same, where it is a time that can be written as text: within the years -9999 to 9999.
    #[must_use]
    pub fn try_from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(|_| Self(millis))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this time; 0 when `earlier` is later.
    #[must_use]
    pub const fn millis_since(self, earlier: Self) -> u64 {
        let span = self.0.saturating_sub(earlier.0);
        if span > 0 { span.unsigned_abs() } else { 0 }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_millisecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{moment:.3}")
    }
}

/// The text is not an RFC 3339 time.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not an RFC 3339 time such as 2026-11-21T22:48:00.000Z")]
pub struct InvalidTimestamp {
    text: String,
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(|moment| Self(moment.as_millisecond()))
            .map_err(|_| InvalidTimestamp { text: text.to_owned() })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time or milliseconds since the Unix epoch")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Timestamp, E> {
                // One that cannot be written again must not come in.
                Timestamp::try_from_millis(millis)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(millis), &self))
            }

            fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
                let signed = i64::try_from(millis).ok().and_then(Timestamp::try_from_millis);
                signed.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(millis), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_is_utc_with_milliseconds_and_reads_back() {
        let time = Timestamp::from_millis(1_795_301_280_007);
        assert_eq!(time.to_string(), "2026-11-21T22:48:00.007Z");
        assert_eq!("2026-11-21T23:48:00.007+01:00".parse::<Timestamp>().unwrap(), time);
        assert_eq!(serde_json::from_str::<Timestamp>("1795301280007").unwrap(), time);
    }

    #[test]
    fn a_number_that_no_date_stands_for_is_an_error() {
        for millis in ["9223372036854775807", "-9223372036854775808", "18446744073709551615"] {
            let error = serde_json::from_str::<Timestamp>(millis).unwrap_err().to_string();
            assert!(error.contains("expected an RFC 3339 time"), "{error}");
        }
        assert_eq!(Timestamp::try_from_millis(7), Some(Timestamp(7)));
    }

    #[test]
    fn nonsense_is_an_error_that_shows_the_text() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().contains("yesterday"));
    }
}
