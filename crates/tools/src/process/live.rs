//! Output as it appears, for whoever watches: soon, but never much.

use std::time::Duration;

use robota_core::HarmlessText;
use tokio::time::Instant;

use super::capture::Tail;

/// What is shown at once, at most: of an output that is not long yet, and of one that is.
const AT_ONCE: usize = 8 * 1024;
const AT_ONCE_LATER: usize = 1024;
/// Time between two looks, likewise.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_LATER: Duration = Duration::from_secs(1);
/// From how many shown bytes on an output is long.
const LONG: usize = 256 * 1024;

/// Shows output in pieces of bounded size at a bounded rate; of what comes faster, the end.
pub(crate) struct Live<F> {
    text: HarmlessText,
    waiting: Tail,
    skipped: u64,
    shown: usize,
    shown_at: Option<Instant>,
    on_output: F,
}

impl<F: FnMut(&str)> Live<F> {
    pub(crate) fn new(on_output: F) -> Self {
        let (text, waiting) = (HarmlessText::default(), Tail::new(AT_ONCE));
        Self { text, waiting, skipped: 0, shown: 0, shown_at: None, on_output }
    }

    /// Takes `bytes`, and shows them when it is time.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.skipped += self.waiting.push(bytes);
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.show();
        }
    }

    /// When something waits to be shown.
    pub(crate) fn due(&self) -> Option<Instant> {
        let pause = if self.shown < LONG { PAUSE } else { PAUSE_LATER };
        let due = || self.shown_at.map_or_else(Instant::now, |shown_at| shown_at + pause);
        (!self.waiting.bytes.is_empty()).then(due)
    }

    /// Shows what waits.
    pub(crate) fn show(&mut self) {
        let mut text = self.begin();
        self.text.flush(&mut text);
        self.hand_out(&text);
        self.shown_at = Some(Instant::now());
    }

    /// Shows what is left at the end of the output.
    pub(crate) fn finish(mut self) {
        let mut text = self.begin();
        std::mem::take(&mut self.text).finish(&mut text);
        self.hand_out(&text);
    }

    fn begin(&mut self) -> String {
        let mut text = String::new();
        if self.skipped > 0 {
            std::mem::take(&mut self.text).finish(&mut text);
            text.push_str(&format!("\n[... {} bytes not shown here ...]\n", self.skipped));
            self.skipped = 0;
        }
        self.text.push(self.waiting.bytes.make_contiguous(), &mut text);
        self.waiting.bytes.clear();
        text
    }

    fn hand_out(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        (self.on_output)(text);
        self.shown += text.len();
        if self.shown >= LONG {
            self.skipped += self.waiting.keep_at_most(AT_ONCE_LATER);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_costs_a_few_small_events() {
        let seen = RefCell::new(Vec::new());
        let mut live = Live::new(|text: &str| seen.borrow_mut().push(text.to_owned()));
        for _ in 0..1000 {
            for _ in 0..50 {
                live.push(&b"yes\n".repeat(4096));
            }
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        live.push(b"last");
        live.finish();
        let seen = seen.into_inner();
        assert!(seen.len() <= 100 && seen.iter().all(|text| text.len() <= AT_ONCE + 100), "{}", seen.len());
        assert!(seen.iter().map(String::len).sum::<usize>() <= LONG + 20 * AT_ONCE);
        let last = &seen[seen.len() - 1];
        assert!(last.contains(" bytes not shown here ...]\n") && last.ends_with("yes\nlast"), "{last}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_slowly_is_shown_whole_and_at_once() {
        let seen = RefCell::new(String::new());
        let mut live = Live::new(|text: &str| seen.borrow_mut().push_str(text));
        let mut expected = String::new();
        for line in 0..100 {
            let line = format!("line {line}");
            live.push(line.as_bytes());
            expected.push_str(&line);
            assert_eq!(*seen.borrow(), expected);
            tokio::time::advance(PAUSE).await;
        }
        live.push(b"a");
        live.push(b"b");
        assert_eq!(live.due(), Some(Instant::now() + PAUSE));
    }
}
