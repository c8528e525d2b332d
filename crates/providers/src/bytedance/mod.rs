//! What ByteDance Ark offers besides chat: videos. Its chat is spoken like that of all others who speak Chat
//! Completions.

mod ark;
mod tool;
mod video;

pub use ark::ArkVideo;
pub use tool::GenerateVideo;
pub use video::{Video, VideoDeadline, VideoGenerator, VideoRequest, VideoStatus, VideoTask};
