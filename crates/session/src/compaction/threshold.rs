//! When a session compacts its history by itself.

use std::fmt;

/// The share of the context window from which on a session compacts its history by itself
/// (`TAutoCompactThreshold` of seed `000`): above 0, at most 1, and 0.835 by default.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct AutoCompactThreshold(f64);

/// The number is no share of a window.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is no threshold for compaction: use a number above 0 and at most 1")]
pub struct InvalidThreshold(f64);

impl AutoCompactThreshold {
    /// The share, above 0 and at most 1.
    #[must_use]
    pub const fn share(self) -> f64 {
        self.0
    }
}

impl Default for AutoCompactThreshold {
    fn default() -> Self {
        Self(0.835)
    }
}

impl TryFrom<f64> for AutoCompactThreshold {
    type Error = InvalidThreshold;

    fn try_from(share: f64) -> Result<Self, InvalidThreshold> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(InvalidThreshold(share)) }
    }
}

impl fmt::Display for AutoCompactThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shares_of_a_window_are_thresholds() {
        assert_eq!(AutoCompactThreshold::default(), 0.835.try_into().unwrap());
        assert!(AutoCompactThreshold::try_from(1.0).is_ok());
        for wrong in [0.0, -0.5, 1.1, f64::NAN, f64::INFINITY] {
            assert!(AutoCompactThreshold::try_from(wrong).is_err(), "{wrong}");
        }
    }
}
