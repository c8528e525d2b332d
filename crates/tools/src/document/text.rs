//! Bytes as text: which encoding they are in, and how a changed text goes back into the same one.
//!
//! UTF-8 and UTF-16 are known by their mark or by their form; what is neither is guessed by its letters, as
//! browsers do. A text is handed out for changing only when encoding it again gives the same bytes.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EncoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A NUL among the first bytes makes a file binary, unless it is UTF-16.
const BINARY_PROBE: usize = 8 * 1024;
/// Bytes around the first one that is not UTF-8 that the guess goes by.
const GUESS_BEFORE: usize = 16 * 1024;
const GUESS_AFTER: usize = 64 * 1024;
/// UTF-16 without a mark is told by so many units; in fewer it is not clear.
const MIN_UTF16_UNITS: usize = 4;
/// One control character in so many bytes makes what is not UTF-8 binary.
const CONTROL_SHARE: usize = 50;
/// So many whole characters for each broken one make a text damaged UTF-8 rather than another encoding.
const UTF8_SHARE: usize = 4;
/// With fewer letters beyond ASCII a guess is a matter of chance.
const FEW_LETTERS: usize = 8;

/// The encoding of a text file, and whether it begins with a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextEncoding {
    form: Form,
    mark: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// A superset of ASCII.
    Other(&'static Encoding),
}

/// A character that an encoding has no bytes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{character:?} (U+{:04X}), on line {line}, does not exist in {encoding}", u32::from(*.character))]
pub(crate) struct Unencodable {
    /// The first such character of the text.
    pub(crate) character: char,
    /// Its line, from 1.
    pub(crate) line: usize,
    pub(crate) encoding: &'static str,
}

/// The encoding of a file that begins with `bytes`, or is `bytes` when they are the `whole` of it; `None` when it
/// is binary.
pub(crate) fn detect(bytes: &[u8], whole: bool) -> Option<TextEncoding> {
    if let Some(marked) = marked(bytes) {
        let content = bytes.get(marked.mark_bytes().len()..).unwrap_or_default();
        return (!has_nul(&marked, content)).then_some(marked);
    }
    let unmarked = |form| Some(TextEncoding { form, mark: false });
    if bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0) {
        return utf16_without_mark(bytes, whole).and_then(unmarked);
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => unmarked(Form::Utf8),
        Err(error) if !whole && error.error_len().is_none() => unmarked(Form::Utf8),
        Err(error) => {
            let from = error.valid_up_to().saturating_sub(GUESS_BEFORE);
            let to = error.valid_up_to().saturating_add(GUESS_AFTER).min(bytes.len());
            guess(bytes.get(from..to).unwrap_or_default()).and_then(unmarked)
        }
    }
}

/// The text without its mark, and its encoding; `None` when the file is binary or damaged, so that the text would
/// not give the same bytes again.
pub(crate) fn decode(bytes: &[u8]) -> Option<(String, TextEncoding)> {
    let encoding = detect(bytes, true)?;
    let content = bytes.get(encoding.mark_bytes().len()..)?;
    let text = match encoding.form {
        Form::Utf8 => std::str::from_utf8(content).ok()?.to_owned(),
        form => form.table().decode_without_bom_handling_and_without_replacement(content)?.into_owned(),
    };
    // Tables of many bytes a character have several ways to write some of them.
    let exact = matches!(encoding.form, Form::Utf8 | Form::Utf16Le | Form::Utf16Be)
        || encoding.encode(&text).is_ok_and(|again| again == bytes);
    exact.then_some((text, encoding))
}

impl TextEncoding {
    /// UTF-8 without a mark: what new files are written in.
    pub(crate) const UTF_8: Self = Self { form: Form::Utf8, mark: false };

    /// As people know it, such as `UTF-16LE with BOM` or `windows-1252`.
    pub(crate) fn name(self) -> &'static str {
        match (self.form, self.mark) {
            (Form::Utf8, true) => "UTF-8 with BOM",
            (Form::Utf16Le, true) => "UTF-16LE with BOM",
            (Form::Utf16Be, true) => "UTF-16BE with BOM",
            (form, _) => form.table().name(),
        }
    }

    /// Whether it is UTF-8, with or without a mark.
    pub(crate) fn is_utf8(self) -> bool {
        self.form == Form::Utf8
    }

    /// Whether its units are of two bytes, so that a line does not end with a byte `\n`.
    pub(crate) fn is_utf16(self) -> bool {
        matches!(self.form, Form::Utf16Le | Form::Utf16Be)
    }

    /// The mark that the file begins with; empty when it has none.
    pub(crate) fn mark_bytes(self) -> &'static [u8] {
        match (self.mark, self.form) {
            (true, Form::Utf8) => b"\xEF\xBB\xBF",
            (true, Form::Utf16Le) => b"\xFF\xFE",
            (true, Form::Utf16Be) => b"\xFE\xFF",
            _ => b"",
        }
    }

    /// The table of the encoding.
    pub(crate) fn table(self) -> &'static Encoding {
        self.form.table()
    }

    /// A part of the text for showing, without a mark; what is not valid shows as U+FFFD.
    pub(crate) fn show(self, bytes: &[u8]) -> Cow<'_, str> {
        self.form.table().decode_without_bom_handling(bytes).0
    }

    /// The bytes of `text` in this encoding, with the mark.
    ///
    /// # Errors
    ///
    /// When a character does not exist in the encoding; nothing is put in its place.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        let mut bytes = self.mark_bytes().to_vec();
        match self.form {
            Form::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Form::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
            Form::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Form::Other(table) => encode_by_table(table, text, &mut bytes)?,
        }
        Ok(bytes)
    }
}

impl Form {
    fn table(self) -> &'static Encoding {
        match self {
            Self::Utf8 => UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Other(table) => table,
        }
    }
}

fn marked(bytes: &[u8]) -> Option<TextEncoding> {
    let form = match bytes {
        [0xEF, 0xBB, 0xBF, ..] => Form::Utf8,
        [0xFF, 0xFE, ..] => Form::Utf16Le,
        [0xFE, 0xFF, ..] => Form::Utf16Be,
        _ => return None,
    };
    Some(TextEncoding { form, mark: true })
}

/// Whether there is a NUL character near the beginning.
fn has_nul(encoding: &TextEncoding, content: &[u8]) -> bool {
    let mut start = content.iter().take(BINARY_PROBE);
    match encoding.is_utf16() {
        true => content.chunks_exact(2).take(BINARY_PROBE / 2).any(|unit| unit == [0, 0]),
        false => start.any(|byte| *byte == 0),
    }
}

/// UTF-16 in which most characters are ASCII and none is a control character.
fn utf16_without_mark(bytes: &[u8], whole: bool) -> Option<Form> {
    if whole && bytes.len() % 2 == 1 {
        return None;
    }
    let probe = bytes.get(..bytes.len().min(BINARY_PROBE) & !1)?;
    let holds = |unit_of: fn([u8; 2]) -> u16| {
        let units = probe.chunks_exact(2).filter_map(|unit| Some(unit_of(unit.try_into().ok()?)));
        let mut ascii = 0;
        let mut decoded = char::decode_utf16(units).peekable();
        while let Some(next) = decoded.next() {
            match next {
                Ok(c) if is_control(c) => return false,
                Ok(c) => ascii += usize::from(c.is_ascii()),
                // A pair may be cut in two by the end of the probe.
                Err(_) if decoded.peek().is_none() && probe.len() < bytes.len() => {}
                Err(_) => return false,
            }
        }
        let units = probe.len() / 2;
        units >= MIN_UTF16_UNITS && ascii * 2 > units
    };
    if holds(u16::from_le_bytes) {
        Some(Form::Utf16Le)
    } else if holds(u16::from_be_bytes) {
        Some(Form::Utf16Be)
    } else {
        None
    }
}

/// A control character that texts do not have.
fn is_control(c: char) -> bool {
    c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\x0C' | '\x1B' | '\x08')
}

/// The encoding of a part that is not UTF-8; `None` when it is no text.
fn guess(sample: &[u8]) -> Option<Form> {
    let controls = sample.iter().filter(|byte| is_control(char::from(**byte))).count();
    if controls * CONTROL_SHARE > sample.len() {
        return None;
    }
    let (mut whole, mut broken) = (0, 0);
    for chunk in sample.utf8_chunks() {
        whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    if whole > broken * UTF8_SHARE {
        return Some(Form::Utf8);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    let guessed = detector.guess(None, Utf8Detection::Deny);
    let western = guessed.is_single_byte() && is_mostly_ascii_words(sample);
    Some(Form::Other(if western { WINDOWS_1252 } else { guessed }))
}

/// Whether there are only a few letters beyond ASCII, each alone, as in the languages of Latin-1; so few tell a
/// guess by letters nothing.
fn is_mostly_ascii_words(sample: &[u8]) -> bool {
    let beyond = sample.iter().filter(|byte| !byte.is_ascii()).count();
    let longest = sample.split(u8::is_ascii).map(<[u8]>::len).max();
    beyond < FEW_LETTERS && longest.unwrap_or_default() <= 2
}

fn encode_by_table(table: &'static Encoding, text: &str, bytes: &mut Vec<u8>) -> Result<(), Unencodable> {
    let mut encoder = table.new_encoder();
    let mut rest = text;
    loop {
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
        bytes.reserve(room.unwrap_or(rest.len()).max(16));
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, bytes, true);
        match result {
            EncoderResult::InputEmpty => return Ok(()),
            EncoderResult::OutputFull => rest = rest.get(read..).unwrap_or_default(),
            EncoderResult::Unmappable(character) => {
                let passed = text.len() - rest.len() + read - character.len_utf8();
                let line = text.get(..passed).unwrap_or_default().matches('\n').count() + 1;
                return Err(Unencodable { character, line, encoding: table.name() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_KR, GBK, KOI8_U, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251};
    use proptest::prelude::*;

    use super::*;

    const GERMAN: &str = "Größe und Übermaß\r\nfür alle Fälle, schöne Grüße\r\n";

    fn all_forms() -> [TextEncoding; 6] {
        let of = |form, mark| TextEncoding { form, mark };
        [
            TextEncoding::UTF_8,
            of(Form::Utf8, true),
            of(Form::Utf16Le, true),
            of(Form::Utf16Be, true),
            of(Form::Utf16Le, false),
            of(Form::Utf16Be, false),
        ]
    }

    #[test]
    fn unicode_forms_go_there_and_back_with_every_line_ending() {
        for encoding in all_forms() {
            for ending in ["\n", "\r\n", "\r"] {
                let text = format!("eins {ending}zwei \u{1F600} – dreißig{ending}").repeat(3);
                let bytes = encoding.encode(&text).unwrap();
                assert_eq!(decode(&bytes), Some((text, encoding)), "{} {ending:?}", encoding.name());
            }
        }
    }

    #[test]
    fn older_encodings_are_known_by_their_letters() {
        let russian = "Привет, мир. Это обычный русский текст, в котором нет ничего особенного.";
        let texts = [
            (WINDOWS_1252, GERMAN),
            (WINDOWS_1252, "// caf\u{e9}\nfn main() {}\n"),
            (WINDOWS_1252, "café déjà vu, naïve façade – “quoted” €5"),
            (WINDOWS_1250, "Příliš žluťoučký kůň úpěl ďábelské ódy, což je šťastné."),
            (WINDOWS_1251, russian),
            (KOI8_U, russian),
            (
                SHIFT_JIS,
                "設定ファイルを読み込み、コンピューターの名前を表示するプログラムです。\nエラーが発生した場合は、ログを確認してください。",
            ),
            (GBK, "这是一个普通的中文句子，没有什么特别的地方。"),
            (BIG5, "這是一個普通的中文句子，沒有什麼特別的地方。"),
            (EUC_KR, "이것은 평범한 한국어 문장입니다. 특별한 것은 없습니다."),
        ];
        for (table, text) in texts {
            let bytes = table.encode(text).0;
            let (decoded, encoding) = decode(&bytes).unwrap();
            assert_eq!((decoded.as_str(), encoding.form), (text, Form::Other(table)), "{}", table.name());
            assert_eq!(encoding.encode(&decoded).unwrap(), *bytes);
        }
    }

    #[test]
    fn what_is_no_text_is_binary() {
        let program = b"\x7FELF\x02\x01\x01\0\0\0\x03\0\x3E\0".as_slice();
        let integers: Vec<u8> = (0_u16..200).flat_map(u16::to_le_bytes).collect();
        let noise: Vec<u8> = (1_u32..4_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let no_nul: Vec<u8> = noise.into_iter().filter(|byte| *byte != 0).collect();
        let utf32 = b"\xFF\xFE\0\0a\0\0\0b\0\0\0".as_slice();
        for bytes in [program, &integers, &no_nul, utf32, b"a\0b", b"\xEF\xBB\xBFa\0"] {
            assert_eq!((detect(bytes, true), decode(bytes)), (None, None), "{bytes:?}");
        }
    }

    #[test]
    fn what_would_change_is_shown_but_not_handed_out() {
        let damaged = [GERMAN.repeat(4).as_bytes(), b"\xFF\n"].concat();
        assert_eq!(detect(&damaged, true), Some(TextEncoding::UTF_8));
        assert_eq!(decode(&damaged), None);
        assert!(TextEncoding::UTF_8.show(&damaged).ends_with("\u{FFFD}\n"));
        // A surrogate alone, and half a unit.
        for end in [b"\x00\xD8".as_slice(), b"x"] {
            let bytes = [b"\xFF\xFEa\0b\0".as_slice(), end].concat();
            assert!(detect(&bytes, true).unwrap().is_utf16());
            assert_eq!(decode(&bytes), None);
        }
    }

    #[test]
    fn a_beginning_may_end_inside_a_character() {
        assert_eq!(detect(b"gr\xC3", false), Some(TextEncoding::UTF_8));
        assert_eq!(detect(b"gr\xC3", true).unwrap().name(), "windows-1252");
        assert_eq!(decode(b""), Some((String::new(), TextEncoding::UTF_8)));
    }

    #[test]
    fn a_character_that_does_not_fit_is_named() {
        let encoding = TextEncoding { form: Form::Other(WINDOWS_1252), mark: false };
        let error = encoding.encode("größer\nals → alles\n→").unwrap_err();
        assert_eq!(error, Unencodable { character: '→', line: 2, encoding: "windows-1252" });
        assert_eq!(error.to_string(), "'→' (U+2192), on line 2, does not exist in windows-1252");
    }

    proptest! {
        #[test]
        fn what_is_handed_out_gives_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some((text, encoding)) = decode(&bytes) {
                prop_assert_eq!(encoding.encode(&text).unwrap(), bytes);
            }
        }

        #[test]
        fn any_text_survives_any_unicode_form(text in "\\PC{0,40}\n\\PC{0,40}") {
            for encoding in all_forms().into_iter().take(4) {
                let bytes = encoding.encode(&text).unwrap();
                // A text may begin with what reads as another mark.
                if let Some((again, _)) = decode(&bytes) {
                    prop_assert_eq!(&again, text.strip_prefix('\u{FEFF}').unwrap_or(&text));
                }
            }
        }
    }
}
