//! What a text weighs in tokens, told from the kinds of its characters alone.
//!
//! Tokenizers cut a text into words, groups of digits, runs of signs and runs of white space before they look
//! anything up, and most of these are one token. So one pass that counts them tells the tokens of prose, code and
//! data far better than the length does: 1,000 bytes are some 250 tokens of prose, and 450 of a lock file.

/// A token in the unit of the estimate, in tenths of a byte: 3.6 bytes.
const TOKEN: u64 = 36;

/// The bytes that stand for a text where tokens are estimated, 3.6 a token. One pass, nothing is allocated.
#[must_use]
pub fn text_bytes(text: &str) -> u64 {
    let mut weight = TextWeight::default();
    weight.add(text.as_bytes());
    weight.bytes()
}

/// Weighs a text that may come in pieces.
#[derive(Debug, Default)]
pub(crate) struct TextWeight {
    tenths: u64,
    kind: Kind,
    last: u8,
    /// How many characters of the kind stand in a row.
    run: u32,
    /// What stood before a run of signs or of white space, and before the word.
    before: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Start,
    Lower,
    Upper,
    /// Letters of two bytes that words are made of: accents, Greek, Cyrillic, Hebrew, Arabic.
    Foreign,
    Digit,
    Space,
    Newline,
    Sign,
    /// Characters that are counted one by one.
    Single,
}

impl TextWeight {
    /// Weighs the next piece.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
    }

    /// The weight of all pieces, in bytes at 3.6 a token.
    pub(crate) const fn bytes(&self) -> u64 {
        self.tenths.div_ceil(10)
    }

    fn byte(&mut self, byte: u8) {
        let kind = match byte {
            b'a'..=b'z' => Kind::Lower,
            b'A'..=b'Z' => Kind::Upper,
            b'0'..=b'9' => Kind::Digit,
            b' ' | b'\t' => Kind::Space,
            b'\n' | b'\r' => Kind::Newline,
            0x00..=0x7f => Kind::Sign,
            // The rest of a character whose first byte has been counted.
            0x80..=0xbf => return,
            0xc0..=0xdf => Kind::Foreign,
            0xe0..=0xff => Kind::Single,
        };
        let run = if kind == self.kind { self.run + 1 } else { 1 };
        self.tenths += match kind {
            Kind::Lower | Kind::Upper | Kind::Foreign => self.letter(kind, byte, run),
            Kind::Digit => self.digit(run),
            Kind::Space => space(run),
            Kind::Newline => self.newline(run),
            Kind::Single => single(byte),
            Kind::Sign | Kind::Start => self.sign(byte, run),
        };
        if kind != self.kind {
            self.before = self.kind;
        }
        (self.kind, self.last, self.run) = (kind, byte, run);
    }

    /// Words up to some length are one token, with the space or the one sign before them.
    fn letter(&self, kind: Kind, byte: u8, run: u32) -> u64 {
        let goes_on = match (self.kind, kind) {
            (Kind::Lower | Kind::Foreign, Kind::Lower) | (Kind::Lower | Kind::Upper, Kind::Foreign) => true,
            // A capital and small letters are a word, as in `Word`.
            (Kind::Upper, Kind::Lower) => true,
            (Kind::Upper, Kind::Upper) | (Kind::Foreign, Kind::Foreign) => true,
            _ => false,
        };
        if !goes_on {
            let joins_sign = self.kind == Kind::Sign && self.run == 1 && self.before != Kind::Space;
            return if joins_sign { params::AFTER_SIGN } else { TOKEN };
        }
        match kind {
            Kind::Upper => params::CAPITAL,
            Kind::Foreign if byte >= 0xce => params::FOREIGN,
            Kind::Foreign => params::ACCENT,
            _ if run > params::UNBROKEN => params::RANDOM,
            _ if run > params::LONG => params::LETTER,
            _ => 0,
        }
    }

    /// Up to three digits are one token, without the space before them.
    fn digit(&self, run: u32) -> u64 {
        let alone = if self.kind == Kind::Space && self.run == 1 { TOKEN } else { 0 };
        if run % 3 == 1 { TOKEN + alone } else { 0 }
    }

    fn sign(&self, byte: u8, run: u32) -> u64 {
        match run {
            1 => TOKEN,
            _ if byte == self.last => params::SAME_SIGN,
            _ => params::NEXT_SIGN,
        }
    }

    /// Ends of lines are one token together, or a part of the signs before them.
    fn newline(&self, run: u32) -> u64 {
        match (self.kind, run) {
            (Kind::Sign, _) => params::NEWLINE_AFTER_SIGN,
            (Kind::Newline, _) => params::NEXT_NEWLINE,
            _ => TOKEN,
        }
    }
}

/// A space belongs to what follows; more of them are one token.
const fn space(run: u32) -> u64 {
    match run {
        2 => TOKEN,
        _ if run > 16 => 2,
        _ => 0,
    }
}

/// A character of three or four bytes, by the first of them.
const fn single(first: u8) -> u64 {
    match first {
        // Indic scripts, Thai, Georgian and others.
        0xe0 | 0xe1 => params::INDIC,
        // Punctuation, arrows, boxes.
        0xe2 => params::SYMBOL,
        // Kana, and the punctuation of Chinese and Japanese.
        0xe3 => params::KANA,
        // Chinese characters.
        0xe4..=0xe9 => params::HAN,
        // Hangul.
        0xea..=0xed => params::HANGUL,
        0xee | 0xef => params::WIDE,
        // Emoji and rare characters.
        _ => params::ASTRAL,
    }
}

/// Tenths of a byte for what is less, or more, than a token: fitted to two vocabularies of 100,000 and 200,000
/// tokens, on documentation, sources, lock files, logs and listings.
mod params {
    /// The first letter behind a single sign: `.name` is often one token.
    pub(super) const AFTER_SIGN: u64 = 13;
    /// A further capital: words in capitals are cut into pieces.
    pub(super) const CAPITAL: u64 = 12;
    pub(super) const FOREIGN: u64 = 9;
    pub(super) const ACCENT: u64 = 12;
    /// Letters of a word that cost nothing more.
    pub(super) const LONG: u32 = 7;
    pub(super) const LETTER: u64 = 4;
    /// No word is longer; what is has no meaning that a vocabulary would know.
    pub(super) const UNBROKEN: u32 = 24;
    pub(super) const RANDOM: u64 = 10;
    pub(super) const SAME_SIGN: u64 = 4;
    pub(super) const NEXT_SIGN: u64 = 14;
    pub(super) const NEWLINE_AFTER_SIGN: u64 = 6;
    pub(super) const NEXT_NEWLINE: u64 = 2;
    pub(super) const INDIC: u64 = 18;
    pub(super) const SYMBOL: u64 = 40;
    pub(super) const KANA: u64 = 25;
    pub(super) const HAN: u64 = 23;
    pub(super) const HANGUL: u64 = 27;
    pub(super) const WIDE: u64 = 36;
    pub(super) const ASTRAL: u64 = 80;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> u64 {
        text_bytes(text) * 10 / 36
    }

    #[test]
    fn words_numbers_and_indents_weigh_what_they_are_cut_into() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("the quick brown fox"), 4);
        assert_eq!(tokens("fn name"), 2);
        assert_eq!(tokens("a\n                b"), 4);
        assert_eq!(tokens("123456789"), 3);
        assert_eq!(tokens("=".repeat(80).as_str()), 10);
    }

    #[test]
    fn a_text_in_pieces_weighs_the_same() {
        let text = "fn größe(日本: &str) -> Vec<u8> {\n    // 12345 ünïcödé 🙂\n}\n";
        for at in 0..=text.len() {
            let mut weight = TextWeight::default();
            let (head, tail) = text.as_bytes().split_at(at);
            weight.add(head);
            weight.add(tail);
            assert_eq!(weight.bytes(), text_bytes(text));
        }
    }
}
