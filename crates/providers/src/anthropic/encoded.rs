//! A message as it is kept between requests: its blocks, and where each of them ends.
//!
//! Breakpoints of the prompt cache are set on blocks, and old messages are only copied; so the places are kept with
//! the bytes instead of being looked for again.

use serde::Serialize;

use crate::json;

/// Where a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEnd {
    /// Just behind the block.
    pub(super) at: usize,
    /// Whether the block may carry a breakpoint.
    pub(super) markable: bool,
}

/// Blocks in the making, as JSON objects with commas between them.
#[derive(Default)]
pub(super) struct Blocks {
    json: Vec<u8>,
    ends: Vec<BlockEnd>,
}

impl Blocks {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { json: Vec::with_capacity(bytes), ends: Vec::new() }
    }

    /// Appends a block.
    pub(super) fn push(&mut self, block: &impl Serialize, markable: bool) {
        if !self.ends.is_empty() {
            self.json.push(b',');
        }
        json::push(&mut self.json, block);
        self.ends.push(BlockEnd { at: self.json.len(), markable });
    }

    /// The blocks alone.
    pub(super) fn into_json(self) -> Vec<u8> {
        self.json
    }

    /// The blocks, then eight bytes for each with its end and in the lowest bit whether it may carry a breakpoint,
    /// then four bytes with their number.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let Self { json: mut bytes, ends } = self;
        bytes.reserve_exact(ends.len() * END + COUNT);
        for end in &ends {
            let number = (end.at as u64) << 1 | u64::from(end.markable);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        // There are fewer blocks than bytes, and no message has 4 GiB.
        bytes.extend_from_slice(&u32::try_from(ends.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes
    }
}

/// Bytes that an end takes.
const END: usize = size_of::<u64>();

/// Bytes that the number of blocks takes.
const COUNT: usize = size_of::<u32>();

/// Appends to `out` the blocks that [`Blocks::into_bytes`] wrote, and to `ends` where they end there.
pub(super) fn append(bytes: &[u8], out: &mut Vec<u8>, ends: &mut Vec<BlockEnd>) {
    let Some((rest, count)) = bytes.split_last_chunk::<COUNT>() else { return };
    let table = u32::from_le_bytes(*count) as usize * END;
    let Some((json, table)) = rest.len().checked_sub(table).and_then(|at| rest.split_at_checked(at)) else {
        return;
    };
    let start = out.len();
    out.extend_from_slice(json);
    ends.extend(table.as_chunks::<END>().0.iter().map(|end| {
        let number = u64::from_le_bytes(*end);
        BlockEnd { at: start + (number >> 1) as usize, markable: number & 1 == 1 }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_again_wherever_the_blocks_are_copied_to() {
        let mut blocks = Blocks::default();
        blocks.push(&"a", true);
        blocks.push(&"bcd", false);
        let (mut out, mut ends) = (b"[".to_vec(), Vec::new());
        append(&blocks.into_bytes(), &mut out, &mut ends);
        assert_eq!(out, br#"["a","bcd""#);
        assert_eq!(ends, [BlockEnd { at: 4, markable: true }, BlockEnd { at: 10, markable: false }]);
        append(&Blocks::default().into_bytes(), &mut out, &mut ends);
        assert_eq!((out.len(), ends.len()), (10, 2));
    }
}
