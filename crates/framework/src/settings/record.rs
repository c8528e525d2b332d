//! Settings of the record that a session keeps: when its history is compacted, and what its log holds.

use robota_core::RawCapture;
use robota_session::{AutoCompactThreshold, Durability};

/// The setting `autoCompactThreshold` (facts sheet 6.1): a number or `false`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing between always and never but the share")]
pub enum AutoCompact {
    /// Only when a person asks for it.
    Never,
    /// From this share of the context window on.
    From(AutoCompactThreshold),
}

impl AutoCompact {
    /// The threshold, where there is one.
    #[must_use]
    pub const fn threshold(self) -> Option<AutoCompactThreshold> {
        match self {
            Self::Never => None,
            Self::From(threshold) => Some(threshold),
        }
    }
}

/// The setting `log`; what is not set keeps its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogSettings {
    /// When the log is made to survive the death of the machine.
    pub durability: Option<Durability>,
    /// Which native payloads of the provider are recorded.
    pub raw_capture: Option<RawCapture>,
}

impl LogSettings {
    /// Lays the fields that `higher` sets over these.
    pub(super) fn overlay(&mut self, higher: Self) {
        self.durability = higher.durability.or(self.durability);
        self.raw_capture = higher.raw_capture.or(self.raw_capture);
    }
}
