//! Times as the daemon writes them.

use std::time::{Duration, SystemTime};

/// The time that `text` says, such as `2026-01-31T23:59:59.123456789Z`: a timestamp of Protocol Buffers in JSON, always
/// in UTC.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(clock, ':')?;
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || !(1970..=9999).contains(&year)
        || hour > 23
        || minute > 59
        || second > 60
        || fraction.len() > 9
    {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    let seconds = since_1970 * 86_400 + hour * 3_600 + minute * 60 + second;
    let nanoseconds = format!("{fraction:0<9}").parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds))
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.splitn(3, between).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let since = |text: &str| parse(text)?.duration_since(SystemTime::UNIX_EPOCH).ok();
        assert_eq!(since("1970-01-01T00:00:00Z"), Some(Duration::ZERO));
        assert_eq!(since("2024-02-29T12:34:56.5Z"), Some(Duration::new(1_709_210_096, 500_000_000)));
        assert_eq!(since("2000-03-01T00:00:00.000000001Z"), Some(Duration::new(951_868_800, 1)));
        let bad = [
            "",
            "2024-02-29",
            "2024-13-01T00:00:00Z",
            "1969-01-01T00:00:00Z",
            "2024-02-29T12:34:56+01:00",
            "2024-02-29T18446744073709551615:00:00Z",
            "2024-02-29T00:00:18446744073709551615Z",
        ];
        for bad in bad {
            assert_eq!(since(bad), None, "{bad}");
        }
    }
}
