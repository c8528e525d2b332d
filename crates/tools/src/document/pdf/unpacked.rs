//! How far the streams of a PDF unpack, found out without keeping what comes out: a small file can hold one that
//! would fill all memory.
//!
//! Streams are taken from the bytes as they stand, whatever the objects around them say: deflated ones, also in
//! ASCII form, are unpacked to nowhere. Nothing is unpacked twice, which no program that writes PDF asks for; the
//! older LZW form and disguised names are let pass only as far as they cannot grow large.

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use super::layout::Pause;

/// Bytes that one stream may unpack to.
const MAX_STREAM: u64 = 192 * 1024 * 1024;
/// Bytes that all streams may unpack to.
const MAX_TOTAL: u64 = 1024 * 1024 * 1024;
/// Bytes of a stream that is not deflated by its plain name.
const MAX_OTHER: usize = 256 * 1024;
/// Bytes before a stream in which the words about it are looked for.
const DICTIONARY: usize = 2 * 1024;
/// Bytes of one step of unpacking.
const STEP: usize = 64 * 1024;

/// Whether every stream of the file `bytes`, and all together, unpack to a bearable size.
pub(super) fn is_bounded(bytes: &[u8], pause: &Pause) -> bool {
    let mut total = 0;
    for at in memmem::find_iter(bytes, b"stream") {
        let before = bytes.get(..at).unwrap_or_default();
        if before.ends_with(b"end") {
            continue;
        }
        if pause.is_over() {
            return true;
        }
        let after = bytes.get(at + b"stream".len()..).unwrap_or_default();
        let data = after.strip_prefix(b"\r\n").or(after.strip_prefix(b"\n")).unwrap_or(after);
        let about = before.get(at.saturating_sub(DICTIONARY)..).unwrap_or_default();
        let begin = memmem::rfind(about, b"obj").unwrap_or_default();
        let about = about.get(begin..).unwrap_or_default();
        match unpacked_size(data, about) {
            Some(size) => total += size,
            None => return false,
        }
        if total > MAX_TOTAL {
            return false;
        }
    }
    true
}

/// Bytes that a stream unpacks to; `None` when they are too many, or cannot be told.
fn unpacked_size(data: &[u8], about: &[u8]) -> Option<u64> {
    let names = |name: &[u8]| memmem::find(about, name).is_some();
    if (names(b"LZW") || names(b"#")) && stream_length(data) > MAX_OTHER {
        return None;
    }
    let plain = inflated_size(data)?;
    if names(b"ASCII85") || names(b"/A85") {
        return Some(plain.max(inflated_size(&from_ascii85(data))?));
    }
    if names(b"ASCIIHex") || names(b"/AHx") {
        return Some(plain.max(inflated_size(&from_hex(data))?));
    }
    Some(plain)
}

fn stream_length(data: &[u8]) -> usize {
    memmem::find(data, b"endstream").unwrap_or(data.len())
}

/// Bytes that deflated data comes to; few for anything else.
fn inflated_size(data: &[u8]) -> Option<u64> {
    let mut first = Vec::new();
    let size = inflate(data, is_zlib(data), &mut first)?;
    // Packed twice: what comes out could be as large again.
    if size > STEP as u64 && is_zlib(&first) { None } else { Some(size) }
}

fn is_zlib(data: &[u8]) -> bool {
    match data {
        [method, flags, ..] => method & 0x0F == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31),
        _ => false,
    }
}

/// Unpacks to nowhere, but for the `first` bytes.
fn inflate(data: &[u8], zlib: bool, first: &mut Vec<u8>) -> Option<u64> {
    let mut inflater = Decompress::new(zlib);
    let mut buffer = vec![0; STEP];
    loop {
        let (read, made) = (inflater.total_in(), inflater.total_out());
        let rest = data.get(usize::try_from(read).ok()?..).unwrap_or_default();
        let status = inflater.decompress(rest, &mut buffer, FlushDecompress::None);
        if first.is_empty() {
            first.extend(buffer.iter().take(2));
        }
        if inflater.total_out() > MAX_STREAM {
            return None;
        }
        let stuck = inflater.total_in() == read && inflater.total_out() == made;
        if stuck || !matches!(status, Ok(Status::Ok)) {
            return Some(inflater.total_out());
        }
    }
}

fn from_ascii85(data: &[u8]) -> Vec<u8> {
    let data = data.get(..stream_length(data)).unwrap_or_default().trim_ascii_start();
    let data = data.strip_prefix(b"<~").unwrap_or(data);
    let mut bytes = Vec::with_capacity(data.len() / 5 * 4 + 4);
    let (mut group, mut count) = (0_u32, 0);
    for byte in data {
        match byte {
            b'z' if count == 0 => bytes.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    bytes.extend(group.to_be_bytes());
                    (group, count) = (0, 0);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    let padded = (count..5).fold(group, |group, _| group.wrapping_mul(85).wrapping_add(84));
    bytes.extend(padded.to_be_bytes().into_iter().take(usize::saturating_sub(count, 1)));
    bytes
}

fn from_hex(data: &[u8]) -> Vec<u8> {
    let data = data.get(..stream_length(data)).unwrap_or_default();
    let digits: Vec<u8> = data
        .iter()
        .take_while(|byte| **byte != b'>')
        .filter_map(|byte| char::from(*byte).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}
