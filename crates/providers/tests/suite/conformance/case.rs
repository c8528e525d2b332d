//! One promise, and how the promises of a topic are tried.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::subject::{Need, Subject};

/// One promise that subjects keep.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) needs: &'static [Need],
    pub(crate) run: fn(&'static Subject) -> LocalBoxFuture<'static, ()>,
}

/// A list of cases: names of functions, with what they need.
macro_rules! cases {
    ($($name:ident $([$($need:ident),*])?),* $(,)?) => {
        &[$(super::case::Case {
            name: stringify!($name),
            needs: &[$($(super::subject::Need::$need),*)?],
            run: |subject| Box::pin($name(subject)),
        }),*]
    };
}
pub(crate) use cases;

impl Case {
    /// Why the case is not run for `subject`.
    pub(crate) fn skipped(&self, subject: &Subject) -> Option<&'static str> {
        self.needs.iter().find_map(|need| subject.lacks(*need))
    }
}

/// Tries all `cases` and then fails if one did.
pub(crate) async fn run_cases(subject: &'static Subject, cases: &[Case]) {
    let mut failed = Vec::new();
    for case in cases {
        if let Some(reason) = case.skipped(subject) {
            println!("skipped for {}: {}: {reason}", subject.name, case.name);
        } else if AssertUnwindSafe((case.run)(subject)).catch_unwind().await.is_err() {
            println!("failed for {}: {}", subject.name, case.name);
            failed.push(case.name);
        }
    }
    assert!(failed.is_empty(), "{} does not keep: {}", subject.name, failed.join(", "));
}
