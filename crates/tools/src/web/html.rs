//! HTML to Markdown.

use std::thread;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};

use super::tidy::tidy;

/// Room for the recursion of the converter over a tidied page.
const STACK: usize = 32 * 1024 * 1024;

/// The readable part of the page as Markdown.
pub(super) fn to_markdown(html: &str) -> String {
    let page = tidy(html);
    let converted = thread::Builder::new().stack_size(STACK).spawn(move || {
        let options = Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ..Options::default()
        };
        HtmlToMarkdown::builder().options(options).build().convert(&page).unwrap_or_default()
    });
    converted.ok().and_then(|thread| thread.join().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_its_readable_part() {
        let html = "<html><head><title>T</title><style>p{}</style></head><body><nav>menu</nav><h1>Head</h1>\
                    <p>Some <b>bold</b> <a href=\"/x\">link</a>.</p><script>alert(1)</script><ul><li>one<li>two</ul>\
                    <pre><code class=\"language-rust\">let x = 1 &lt; 2;</code></pre>\
                    <table><tr><th>a<th>b<tr><td>1<td>2</table></body></html>";
        let expected = "T\n\n# Head\n\nSome **bold** [link](/x).\n\n- one\n- two\n\n```rust\nlet x = 1 < 2;\n```\n\n\
                        | a | b |\n| - | - |\n| 1 | 2 |";
        assert_eq!(to_markdown(html), expected);
    }

    #[test]
    fn hostile_pages_are_converted_in_no_time() {
        let pages = [
            format!("<p>start</p>{}end", "<div>".repeat(900_000)),
            format!("<p>start</p>{}end", "<b><i x=1><a href=1>".repeat(100_000)),
            format!("<p>start</p>{}end", "<table><tr><td>".repeat(100_000)),
            format!(
                "<p>start</p>{}end",
                (0..100_000).map(|n| format!("<code class={n}><p>")).collect::<String>()
            ),
            format!("<p>start</p>{}end", "<div><template></div></template>".repeat(100_000)),
            format!("<p>start</p>{}end", "<svg><style>".repeat(100_000)),
        ];
        for page in pages {
            let markdown = to_markdown(&page);
            assert!(markdown.starts_with("start"), "{}", page.get(..80).unwrap());
        }
    }
}
