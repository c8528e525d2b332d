//! What is inside a file: text in its encoding, the pages of a PDF, the cells of a notebook, the size of an image.
//!
//! All of it works on bytes, knows nothing of where they come from, and takes garbage for what it is.

pub(crate) mod image;
pub(crate) mod notebook;
pub(crate) mod pdf;
#[allow(dead_code, reason = "the tools that change files use it")]
pub(crate) mod text;
