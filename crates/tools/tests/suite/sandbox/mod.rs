//! Sandboxes: one suite over all adapters, then what each has of its own.

mod conformance;
mod e2b;
mod host;
mod manifest;
mod memory;
mod place;
mod standin;
mod tools;

/// Runs each case over a fresh sandbox of each adapter.
macro_rules! over_all {
    ($($case:ident)*) => {
        over_all!(@ host, $($case)*);
        over_all!(@ memory, $($case)*);
        over_all!(@ e2b, $($case)*);
    };
    (@ $adapter:ident, $($case:ident)*) => {
        mod $adapter {
            $(
                #[tokio::test]
                async fn $case() {
                    super::$case(&$crate::sandbox::place::Place::$adapter().await).await;
                }
            )*
        }
    };
}
use over_all;
