//! From bytes to text: in which encoding a body is.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::tag::Tag;

/// Bytes at the beginning in which a page says its encoding.
const DECLARED_WITHIN: usize = 4096;
/// Bytes by which an encoding is guessed.
const GUESSED_BY: usize = 512 * 1024;

/// Where an encoding may be declared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints<'a> {
    /// The charset of the media type.
    pub(super) told: Option<&'a str>,
    /// Whether the text may declare one itself, as HTML and XML do.
    pub(super) is_markup: bool,
    /// The host of the page; encodings differ by country.
    pub(super) host: Option<&'a str>,
}

/// The body as text. What counts, in this order: a byte order mark, the charset of the media type, what the page
/// declares, UTF-8 when the bytes are that, and what is likely by their distribution.
pub(super) fn decode(body: &[u8], hints: Hints<'_>) -> String {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return lossy(encoding, body.get(length..).unwrap_or_default());
    }
    let told = hints.told.and_then(|label| Encoding::for_label(label.as_bytes()));
    let named = told.or_else(|| if hints.is_markup { declared(body) } else { None });
    // Servers claim Latin-1 for everything; text that is UTF-8 with other than ASCII in it is never by chance.
    if named.is_none_or(|encoding| encoding == UTF_8 || encoding == WINDOWS_1252)
        && let Ok(text) = str::from_utf8(body)
    {
        return text.to_owned();
    }
    lossy(named.unwrap_or_else(|| guess(body, hints.host)), body)
}

fn lossy(encoding: &'static Encoding, body: &[u8]) -> String {
    encoding.decode_without_bom_handling(body).0.into_owned()
}

/// What `<meta charset>`, `<meta http-equiv>` or an XML declaration says.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let start = body.get(..body.len().min(DECLARED_WITHIN)).unwrap_or_default();
    // Encodings that can be declared have ASCII in common.
    let start: Cow<'_, str> = WINDOWS_1252.decode_without_bom_handling(start).0;
    let declared = in_declaration(&start).or_else(|| in_meta(&start))?;
    // What was readable as ASCII is not UTF-16.
    Some(if declared == UTF_16LE || declared == UTF_16BE { UTF_8 } else { declared })
}

fn in_declaration(start: &str) -> Option<&'static Encoding> {
    let (declaration, _) = start.trim_start().strip_prefix("<?xml")?.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let label = value.get(1..)?.split(quote).next()?;
    Encoding::for_label(label.as_bytes())
}

fn in_meta(start: &str) -> Option<&'static Encoding> {
    let mut rest = start;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        if !after.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("meta")) {
            continue;
        }
        let (tag, behind) = Tag::read(after)?;
        rest = behind;
        if let Some(encoding) = of_meta(&tag) {
            return Some(encoding);
        }
    }
    None
}

fn of_meta(tag: &Tag<'_>) -> Option<&'static Encoding> {
    if let Some(label) = tag.attribute("charset") {
        return Encoding::for_label(label.as_bytes());
    }
    tag.attribute("http-equiv").filter(|about| about.eq_ignore_ascii_case("content-type"))?;
    let content = tag.attribute("content")?.to_ascii_lowercase();
    let (_, label) = content.split_once("charset=")?;
    let label = label.trim_matches(|c| matches!(c, '"' | '\'' | ' ')).split([';', ' ']).next()?;
    Encoding::for_label(label.as_bytes())
}

fn guess(body: &[u8], host: Option<&str>) -> &'static Encoding {
    let sample = body.get(..body.len().min(GUESSED_BY)).unwrap_or_default();
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() == body.len());
    // The end of a name in lower case; that of an address is none.
    let end = host.and_then(|host| host.trim_end_matches('.').rsplit('.').next());
    let end = end.filter(|end| end.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
    detector.guess(end.map(str::as_bytes).filter(|end| !end.is_empty()), Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251};

    use super::*;

    fn page(head: &str, text: &[u8]) -> Vec<u8> {
        [head.as_bytes(), text].concat()
    }

    #[test]
    fn an_encoding_is_taken_from_where_it_is_said() {
        let (euro, utf16) = (&b"caf\xE9 5 \x80"[..], b"\xFE\xFF\x00c\x00a\x00f\x00\xE9");
        let markup = Hints { is_markup: true, ..Hints::default() };
        let told = |told| Hints { told: Some(told), is_markup: true, host: None };
        let cyrillic = WINDOWS_1251.encode("Привет").0.into_owned();
        let japanese = SHIFT_JIS.encode("こんにちは").0.into_owned();
        let cases = [
            (utf16.to_vec(), told("windows-1252"), "café"),
            (b"\xFF\xFEc\x00".to_vec(), markup, "c"),
            ("\u{FEFF}café".into(), told("iso-8859-1"), "café"),
            (euro.to_vec(), told("iso-8859-1"), "café 5 €"),
            ("café".into(), told("iso-8859-1"), "café"),
            (cyrillic.clone(), told("windows-1251"), "Привет"),
            (page("<meta charset=Windows-1251>", &cyrillic), markup, "<meta charset=Windows-1251>Привет"),
            (
                page("<meta charset=windows-1252>", &japanese),
                told("shift_jis"),
                "<meta charset=windows-1252>こんにちは",
            ),
            (
                page(
                    "<META http-equiv='Content-Type' content='text/html; charset=\"shift_jis\"'>",
                    &japanese,
                ),
                markup,
                "<META http-equiv='Content-Type' content='text/html; charset=\"shift_jis\"'>こんにちは",
            ),
            (
                page("<?xml version='1.0' encoding='windows-1251'?>", &cyrillic),
                markup,
                "<?xml version='1.0' encoding='windows-1251'?>Привет",
            ),
            ("<meta charset=utf-16>é".into(), markup, "<meta charset=utf-16>é"),
            (
                page("<!-- <meta charset=koi8-r> -->", "é".as_bytes()),
                markup,
                "<!-- <meta charset=koi8-r> -->é",
            ),
            (b"ok \xFF".to_vec(), told("utf-8"), "ok \u{FFFD}"),
            ("é".into(), told("no such charset"), "é"),
            (Vec::new(), Hints::default(), ""),
        ];
        for (body, hints, expected) in cases {
            assert_eq!(decode(&body, hints), expected);
        }
    }

    #[test]
    fn an_encoding_that_nothing_says_is_guessed() {
        let cases = [
            (WINDOWS_1251, "Съешь же ещё этих мягких французских булок, да выпей чаю", "a.example"),
            (SHIFT_JIS, "日本語の文章をここに書いてあります。文字コードを推定します。", "a.example"),
            (EUC_KR, "안녕하세요. 이것은 한국어로 쓰여진 문장입니다.", "a.kr"),
            (GBK, "这是一个用简体中文写的句子，用来测试编码的检测。", "a.cn"),
            (BIG5, "這是一個用繁體中文寫的句子，用來測試編碼的偵測。", "a.tw"),
            (WINDOWS_1252, "Où êtes-vous né ? À l’été, près de Genève, déjà…", "a.example"),
        ];
        for (encoding, text, host) in cases {
            let body = encoding.encode(text).0;
            let hints = Hints { host: Some(host), ..Hints::default() };
            assert_eq!(decode(&body, hints), text, "{}", encoding.name());
        }
    }
}
