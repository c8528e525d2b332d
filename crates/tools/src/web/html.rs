//! HTML to Markdown.

use std::thread;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use reqwest::Url;

use super::element::Detail;
use super::readable::article;
use super::tidy::tidy;

/// Room for the recursion of the libraries over a tidied page.
const STACK: usize = 32 * 1024 * 1024;

/// A page that was HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Markdown {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// The readable part of the page as Markdown, its links relative to `base`.
///
/// The libraries only see pages that were tidied, so that none can exhaust them.
pub(super) fn to_markdown(html: &str, base: Option<&Url>) -> Markdown {
    let page = tidy(html, base, Detail::Structure);
    let title = page.title.clone();
    let converted = thread::Builder::new().stack_size(STACK).spawn(move || {
        let page = article(&page).unwrap_or_else(|| tidy(&page.html, None, Detail::Lean));
        let options = Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ..Options::default()
        };
        HtmlToMarkdown::builder().options(options).build().convert(&page.html).unwrap_or_default()
    });
    let text = converted.ok().and_then(|thread| thread.join().ok()).unwrap_or_default();
    Markdown { title, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        to_markdown(html, None).text
    }

    #[test]
    fn a_page_becomes_its_readable_part() {
        let html = "<html><head><title>T</title><style>p{}</style></head><body><nav>menu</nav><h1>Head</h1>\
                    <p>Some <b>bold</b> <a href=\"/x\">link</a>.</p><script>alert(1)</script><ul><li>one<li>two</ul>\
                    <pre><code class=\"language-rust\">let x = 1 &lt; 2;</code></pre>\
                    <table><tr><th>a<th>b<tr><td>1<td>2</table></body></html>";
        let expected = "# Head\n\nSome **bold** [link](https://a.example/x).\n\n- one\n- two\n\n\
                        ```rust\nlet x = 1 < 2;\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |";
        let base = Url::parse("https://a.example/docs/").unwrap();
        let expected = Markdown { title: Some("T".to_owned()), text: expected.to_owned() };
        assert_eq!(to_markdown(html, Some(&base)), expected);
    }

    #[test]
    fn an_article_is_taken_out_of_what_stands_around_it() {
        let sentence = "A paragraph of an article says something, with commas, and at some length. ";
        let body = format!("<p>{}</p>", sentence.repeat(4)).repeat(6);
        let listing = "<pre><code>fn main() {\n    run();\n}</code></pre>";
        let page = format!(
            "<body><div class=\"sidebar\"><ul><li><a href=/1>Related one</a><li><a href=/2>Related two</a></ul></div>\
             <article><h2>Part</h2>{body}{listing}{body}</article><footer class=footer>Imprint</footer></body>"
        );
        let text = markdown(&page);
        assert!(!text.contains("Related") && !text.contains("Imprint"), "{text}");
        assert!(text.contains("```\nfn main() {\n    run();\n}\n```"), "{text}");
        assert_eq!(text.matches("A paragraph").count(), 48, "{text}");
        // What is only a part of the page does not stand for it.
        let answers = format!("<div class=comment>{}</div>", sentence.repeat(3)).repeat(40);
        let text = markdown(&format!("<article>{body}</article><section id=comments>{answers}</section>"));
        assert_eq!(text.matches("A paragraph").count(), 24 + 120);
        assert_eq!(markdown("<p>short"), "short");
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
            format!("{}<pre>start\n{}", "<blockquote>".repeat(99), "x\n".repeat(10_000)),
            format!("<p>start</p>{}", "<section>one, two, three<p>four, five, six".repeat(1_000)),
        ];
        for page in pages {
            let markdown = markdown(&page);
            assert!(markdown.contains("start"), "{}", page.get(..80).unwrap());
        }
    }
}
