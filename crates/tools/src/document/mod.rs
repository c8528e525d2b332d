//! What is inside a file: text in its encoding.

#[allow(dead_code, reason = "the tools that change files use it")]
pub(crate) mod text;
