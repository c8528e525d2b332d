//! Ids of calls in the form that Mistral insists on.

use std::borrow::Cow;

/// `id` as exactly nine letters and digits: always the same for the same id, so that call and result stay a pair.
pub(super) fn nine(id: &str) -> Cow<'_, str> {
    if id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(id);
    }
    // FNV-1a: 64 bits are more than nine characters hold, and ids of one history are few.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let digits = (0..LENGTH).scan(hash, |rest, _| {
        let digit = u32::try_from(*rest % 36).unwrap_or_default();
        *rest /= 36;
        char::from_digit(digit, 36)
    });
    Cow::Owned(digits.collect())
}

const LENGTH: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_nine_letters_and_digits_and_stay_apart() {
        assert_eq!(nine("a1B2c3D4e"), "a1B2c3D4e");
        let ids: std::collections::BTreeSet<String> =
            (0..10_000).map(|number| nine(&format!("call_{number}")).into_owned()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())));
        assert_eq!(nine("call_1"), nine("call_1"));
        assert_eq!(nine("").len(), 9);
    }
}
