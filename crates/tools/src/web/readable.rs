//! The part of a page that is its content, without what stands around it on every page of a site.

use dom_smoothie::{Config, Readability};

use super::element::Detail;
use super::tidy::{Tidied, tidy};

/// Pages with more are shown whole: finding the content takes time that grows faster than they do.
const MAX_TAGS: usize = 30_000;
const MAX_BYTES: usize = 1_500_000;
/// Bytes of text below which a find is more likely a mistake than an article.
const MIN_TEXT: usize = 200;
/// A find is used when it holds at least this part of the text of the page; less is a mistake, or leaves too much out.
const MIN_SHARE: usize = 2;

/// The content of a page that was reduced with [`Detail::Structure`], reduced to what Markdown can say; `None` when
/// the page has none that stands out, or is too large to look for it.
pub(super) fn article(page: &Tidied) -> Option<Tidied> {
    if page.tags > MAX_TAGS || page.html.len() > MAX_BYTES || page.text < MIN_TEXT {
        return None;
    }
    let config = Config { disable_json_ld: true, max_elements_to_parse: MAX_TAGS, ..Config::default() };
    let mut reader = Readability::new(page.html.as_str(), None, Some(config)).ok()?;
    let found = reader.parse().ok()?;
    let article = tidy(&found.content, None, Detail::Lean);
    (article.text >= MIN_TEXT && article.text * MIN_SHARE >= page.text).then_some(article)
}
