//! Whatever bytes arrive, and however they are cut, the events of a body are the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_providers::fuzzing::frames;

fuzz_target!(|input: (u8, &[u8])| {
    let (length, body) = (usize::from(input.0).max(1), input.1);
    let whole = frames([body]);
    assert_eq!(whole, frames(body.chunks(length)));
    assert_eq!(whole, frames(body.chunks(1)));
});
