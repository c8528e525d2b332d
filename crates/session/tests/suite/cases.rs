//! How many cases a property is tried with.

/// `by_default` cases, or `ROBOTA_TEST_CASES` times as many for a long run.
#[expect(clippy::disallowed_methods, reason = "the length of a test run is set where it is started")]
pub(crate) fn cases(by_default: u32) -> u32 {
    let factor = std::env::var("ROBOTA_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    by_default.saturating_mul(factor)
}
