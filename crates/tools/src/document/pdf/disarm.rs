//! Takes from a PDF what text does not need and the interpreter cannot bear: colour functions written as programs,
//! which it reads by recursion of any depth, so that nested braces would exhaust every stack.
//!
//! Such a program stands in a stream, and the words about a stream always stand plainly in the file.

use memchr::memmem;

const KEY: &[u8] = b"FunctionType";

/// Makes functions unknown by changing their key in place; `false` when the key is disguised by escapes, which no
/// ordinary program does.
pub(super) fn disarm(bytes: &mut [u8]) -> bool {
    let places: Vec<usize> = memmem::find_iter(bytes, KEY).collect();
    for at in places {
        if let Some(first) = bytes.get_mut(at) {
            *first = b'X';
        }
    }
    !memmem::find_iter(bytes, b"#").any(|at| is_disguised(bytes, at))
}

/// Whether the name around the escape at `at` is the key.
fn is_disguised(bytes: &[u8], at: usize) -> bool {
    // Every letter may be escaped, by three bytes.
    let window = bytes.get(at.saturating_sub(3 * KEY.len())..at).unwrap_or_default();
    let Some(slash) = window.iter().rposition(|byte| *byte == b'/') else { return false };
    let mut rest = bytes.get(at - window.len() + slash + 1..).unwrap_or_default();
    for wanted in KEY {
        let hex = rest.strip_prefix(b"#").and_then(|hex| std::str::from_utf8(hex.get(..2)?).ok());
        let (byte, used) = match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (Some(byte), 3),
            None => (rest.first().copied(), 1),
        };
        if byte != Some(*wanted) {
            return false;
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_lose_their_key_and_disguised_ones_are_told() {
        let mut plain = b"<</FunctionType 4/Length 1>> /Adobe#20Green #46unctionType".to_vec();
        assert!(disarm(&mut plain));
        assert_eq!(plain, b"<</XunctionType 4/Length 1>> /Adobe#20Green #46unctionType");
        let all: String = KEY.iter().map(|byte| format!("#{byte:02x}")).collect();
        for name in ["/#46unctionType", "/FunctionTyp#65", "/Function#54ype", &format!("/{all}")] {
            assert!(!disarm(&mut format!("<<{name} 4>>").into_bytes()), "{name}");
        }
    }
}
