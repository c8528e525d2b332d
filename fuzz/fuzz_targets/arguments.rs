//! Whatever a model writes as the arguments of a call, it is an object or an error with a place, and what was mended
//! once needs no mending.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robota_core::read_arguments;
use serde_json::{Map, Value};

fuzz_target!(|text: &str| match read_arguments(text) {
    Ok(read) => {
        serde_json::from_str::<Map<String, Value>>(&read).expect("an object");
        assert_eq!(read_arguments(&read).as_deref(), Ok(&*read));
    }
    Err(error) => {
        assert!(error.line >= 1 && error.column >= 1);
        assert!(error.line <= 1 + text.matches('\n').count());
    }
});
