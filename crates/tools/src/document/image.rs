//! Images, as far as their first bytes tell: the format, and how large they are.

/// An image in a format that models take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageHeader {
    pub(crate) mime_type: &'static str,
    /// Width and height in pixels; `None` when the header is broken or does not reach that far.
    pub(crate) size: Option<(u32, u32)>,
}

/// The header of a PNG, JPEG, GIF or WebP image that begins with `start`; `None` for anything else.
pub(crate) fn image_header(start: &[u8]) -> Option<ImageHeader> {
    let (mime_type, size) = match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', rest @ ..] => ("image/png", png_size(rest)),
        [0xFF, 0xD8, 0xFF, ..] => ("image/jpeg", jpeg_size(start)),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', rest @ ..] => ("image/gif", gif_size(rest)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', rest @ ..] => {
            ("image/webp", webp_size(rest))
        }
        _ => return None,
    };
    let size = size.filter(|(width, height)| *width > 0 && *height > 0);
    Some(ImageHeader { mime_type, size })
}

/// What a binary file with these first bytes is, when it is something that can be turned into what is shown.
pub(crate) fn other_kind(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some("a BMP image"),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some("a TIFF image"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f' | b's', ..] => Some("an AVIF image"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'h', b'e', b'i', ..] => Some("a HEIC image"),
        [0, 0, 1, 0, _, 0, ..] => Some("an ICO image"),
        _ => None,
    }
}

fn png_size(rest: &[u8]) -> Option<(u32, u32)> {
    let [0, 0, 0, 13, b'I', b'H', b'D', b'R', rest @ ..] = rest else { return None };
    let (width, rest) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*rest.first_chunk()?)))
}

fn gif_size(rest: &[u8]) -> Option<(u32, u32)> {
    let [w0, w1, h0, h1] = *rest.first_chunk()?;
    Some((u16::from_le_bytes([w0, w1]).into(), u16::from_le_bytes([h0, h1]).into()))
}

/// The size stands in the frame header, behind segments of any length.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.get(2..)?;
    loop {
        let [0xFF, marker, after @ ..] = rest else { return None };
        match marker {
            // Fill bytes, and segments without content.
            0xFF => rest = rest.get(1..)?,
            0x01 | 0xD0..=0xD8 => rest = after,
            // Pictures begin, or the image ends, without a frame.
            0xD9 | 0xDA => return None,
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                let [_, _, _, h0, h1, w0, w1] = *after.first_chunk()?;
                return Some((u16::from_be_bytes([w0, w1]).into(), u16::from_be_bytes([h0, h1]).into()));
            }
            _ => {
                let length = u16::from_be_bytes(*after.first_chunk()?);
                rest = after.get(usize::from(length.max(2))..)?;
            }
        }
    }
}

fn webp_size(rest: &[u8]) -> Option<(u32, u32)> {
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let data = rest.get(4..)?;
    let three = |at: usize| {
        let [a, b, c] = *data.get(at..)?.first_chunk()?;
        Some(u32::from_le_bytes([a, b, c, 0]))
    };
    match kind {
        b"VP8X" => Some((three(4)? + 1, three(7)? + 1)),
        b"VP8L" => {
            let [0x2F, a, b, c, d] = *data.first_chunk()? else { return None };
            let bits = u32::from_le_bytes([a, b, c, d]);
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        b"VP8 " => {
            let [0x9D, 0x01, 0x2A, w0, w1, h0, h1] = *data.get(3..)?.first_chunk()? else { return None };
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3FFF);
            Some((side(w0, w1), side(h0, h1)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(start: &[u8]) -> Option<(&'static str, Option<(u32, u32)>)> {
        image_header(start).map(|header| (header.mime_type, header.size))
    }

    #[test]
    fn sizes_stand_in_the_headers() {
        let png = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\0\0\0\0\x20\x08\x06\0\0\0";
        assert_eq!(header(png), Some(("image/png", Some((256, 32)))));
        assert_eq!(header(b"GIF89a\x05\0\x02\x01\x80\0\0"), Some(("image/gif", Some((5, 258)))));
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04JF\xFF\xFF\xC4\0\x03x\xFF\xC2\0\x11\x08\0\x10\0\x20\x03";
        assert_eq!(header(jpeg), Some(("image/jpeg", Some((32, 16)))));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x30\x01\0\x9D\x01\x2A\x40\x01\xF0\0";
        assert_eq!(header(lossy), Some(("image/webp", Some((320, 240)))));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x0F\xC0\x03\0";
        assert_eq!(header(lossless), Some(("image/webp", Some((16, 16)))));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x0F\0\0\x1F\0\0";
        assert_eq!(header(extended), Some(("image/webp", Some((16, 32)))));
    }

    #[test]
    fn a_header_that_is_cut_anywhere_gives_no_size() {
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04JF\xFF\xC2\0\x11\x08\0\x10\0\x20".as_slice();
        let png = b"\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x01\0\0\0\0\x20".as_slice();
        for whole in [jpeg, png] {
            assert!(image_header(whole).unwrap().size.is_some());
            for length in 0..whole.len() {
                assert!(image_header(&whole[..length]).is_none_or(|header| header.size.is_none()));
            }
        }
        assert_eq!(header(b"GIF89a\0\0\x02\0"), Some(("image/gif", None)));
        assert_eq!(header(b"<svg/>"), None);
    }
}
