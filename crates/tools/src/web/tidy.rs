//! A page reduced to its readable elements, well nested and of bounded depth.
//!
//! Parsing HTML is quadratic in the depth of unclosed elements, and conversion recursive; a page
//! can be written to exhaust either. What leaves this module cannot: it holds only known elements,
//! closes each one itself, and lets none stand deeper than [`MAX_DEPTH`].

use reqwest::Url;

use super::element::{Detail, Element, element, has_margin, kept_attributes};
use super::plain::without_references;
use super::tag::Tag;

/// Elements open at once.
const MAX_DEPTH: usize = 100;
/// Lists and quotations open at once: Markdown repeats a mark of each at the beginning of every line.
const MAX_MARGIN: usize = 12;
/// Bytes of such marks; the page is cut there.
const MAX_MARGINS: usize = 4_000_000;
/// Tags of the result; the page is cut there.
const MAX_TAGS: usize = 50_000;
/// Bytes of an attribute; longer ones, such as images written out in an address, are left out.
const MAX_ATTRIBUTE: usize = 2_000;

/// Bytes that the result may have more than the page: links are written out.
const MAX_GROWTH: usize = 4_000_000;

/// A page that was reduced.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tidied {
    pub(super) html: String,
    /// The text of the first `<title>` that has any.
    pub(super) title: Option<String>,
    /// Start and end tags in `html`.
    pub(super) tags: usize,
    /// Bytes of `html` that are text, white space left aside.
    pub(super) text: usize,
}

/// The readable part of `html`, its links relative to `base`.
pub(super) fn tidy(html: &str, base: Option<&Url>, detail: Detail) -> Tidied {
    let mut tidy = Tidy {
        out: Tidied { html: String::with_capacity(html.len() / 2), ..Tidied::default() },
        open: Vec::new(),
        margins: 0,
        endless: Vec::new(),
        base: base.filter(|base| base.as_str().len() <= MAX_ATTRIBUTE).cloned(),
        based: false,
        detail,
    };
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        tidy.text(text);
        rest = tidy.markup(after);
        if tidy.is_too_much(html.len()) {
            tidy.close_to(0);
            tidy.out.html.push_str("<p>[page cut here]</p>");
            return tidy.out;
        }
    }
    tidy.text(rest);
    tidy.close_to(0);
    tidy.out
}

struct Tidy {
    out: Tidied,
    /// Names of the kept elements that are open, outermost first.
    open: Vec<Element>,
    /// Bytes that Markdown will have before lines of listings.
    margins: usize,
    /// Names of which no further end stands in the page.
    endless: Vec<String>,
    /// What links are relative to.
    base: Option<Url>,
    /// Whether the page has said what its links are relative to; it may once.
    based: bool,
    detail: Detail,
}

impl Tidy {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let is_listing = text.contains('\n') && self.open.contains(&Element::Block("pre"));
        let text = if is_listing { self.within_margins(text) } else { text };
        self.out.text += text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
        self.out.html.push_str(text);
    }

    /// The part of a listing for whose margins there is room.
    fn within_margins<'a>(&mut self, text: &'a str) -> &'a str {
        let margin = self.margin() * 2;
        let mut ends = text.match_indices('\n').map(|(at, _)| at);
        let end = ends.find(|_| {
            self.margins += margin;
            self.margins > MAX_MARGINS
        });
        end.and_then(|end| text.get(..end)).unwrap_or(text)
    }

    /// Lists and quotations that are open.
    fn margin(&self) -> usize {
        self.open.iter().filter(|open| has_margin(open)).count()
    }

    fn is_too_much(&self, page: usize) -> bool {
        self.out.tags > MAX_TAGS || self.out.html.len() > page + MAX_GROWTH || self.margins > MAX_MARGINS
    }

    /// Handles what stands behind a `<`; gives what follows it.
    fn markup<'a>(&mut self, after: &'a str) -> &'a str {
        if let Some(comment) = after.strip_prefix("!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        if after.starts_with(['!', '?']) {
            return behind_tag(after);
        }
        if let Some(closing) = after.strip_prefix('/') {
            let end = closing.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(closing.len());
            let name = closing.get(..end).unwrap_or_default().to_ascii_lowercase();
            self.end(element(&name, self.detail));
            return behind_tag(closing);
        }
        if !after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.out.html.push_str("&lt;");
            return after;
        }
        let Some((tag, rest)) = Tag::read(after) else { return "" };
        if tag.name == "base" {
            self.set_base(&tag);
        }
        match element(&tag.name, self.detail) {
            element @ (Element::RawText | Element::Dropped) => self.leave_out(element, tag.name, rest),
            kept => {
                self.start(kept, &tag);
                rest
            }
        }
    }

    /// Leaves out an element whose start tag was just taken off; gives what follows it.
    ///
    /// One without an end would take the rest of the page with it: only its tag is left out.
    fn leave_out<'a>(&mut self, element: Element, name: String, rest: &'a str) -> &'a str {
        if self.endless.contains(&name) {
            return rest;
        }
        let raw = element == Element::RawText;
        let end =
            if raw { split_closing(rest, &name) } else { behind_element(rest, &name).map(|rest| ("", rest)) };
        match end {
            Some((text, rest)) => {
                if name == "title" && self.out.title.is_none() {
                    let words = without_references(text);
                    let title = words.split_whitespace().collect::<Vec<_>>().join(" ");
                    self.out.title = Some(title).filter(|title| !title.is_empty());
                }
                rest
            }
            None => {
                self.endless.push(name);
                rest
            }
        }
    }

    fn start(&mut self, element: Element, tag: &Tag<'_>) {
        let (Element::Block(name)
        | Element::Mark(name)
        | Element::Inline(name)
        | Element::Flat(name)
        | Element::Void(name)) = element
        else {
            return;
        };
        if matches!(element, Element::Block(_) | Element::Flat(_)) {
            while matches!(self.open.last(), Some(Element::Mark(_))) {
                self.close_to(self.open.len() - 1);
            }
        }
        let holds = matches!(element, Element::Block(_) | Element::Mark(_) | Element::Inline(_));
        if holds {
            if self.open.len() == MAX_DEPTH || (has_margin(&element) && self.margin() == MAX_MARGIN) {
                return;
            }
            self.open.push(element);
        }
        self.out.tags += 1;
        self.out.html.push('<');
        self.out.html.push_str(name);
        for kept in kept_attributes(name) {
            self.attribute(kept, tag);
        }
        if self.detail == Detail::Structure && matches!(element, Element::Block(_) | Element::Flat(_)) {
            self.attribute("class", tag);
            self.attribute("id", tag);
        }
        self.out.html.push('>');
    }

    fn attribute(&mut self, name: &str, tag: &Tag<'_>) {
        let Some(value) = tag.attribute(name).filter(|value| value.len() <= MAX_ATTRIBUTE) else { return };
        let value = match name {
            "href" | "src" => match self.link(value) {
                Some(link) => link.replace('&', "&amp;"),
                None => return,
            },
            _ => value.to_owned(),
        };
        let value = value.replace('"', "&quot;").replace('<', "&lt;");
        self.out.html.push_str(&format!(" {name}=\"{value}\""));
    }

    /// A link in full; `None` for one within the page, and for what is no address to fetch.
    fn link(&self, written: &str) -> Option<String> {
        let written = without_references(written);
        let written = written.trim();
        if written.is_empty() || written.starts_with('#') {
            return None;
        }
        let Some(base) = &self.base else { return Some(written.to_owned()) };
        let link = base.join(written).ok().filter(|link| link.as_str().len() <= MAX_ATTRIBUTE)?;
        matches!(link.scheme(), "http" | "https" | "mailto" | "ftp").then(|| link.into())
    }

    fn set_base(&mut self, tag: &Tag<'_>) {
        if self.based {
            return;
        }
        let Some((href, base)) = tag.attribute("href").zip(self.base.as_ref()) else { return };
        let told = base.join(without_references(href).trim()).ok();
        if let Some(told) = told.filter(|told| matches!(told.scheme(), "http" | "https")) {
            self.base = Some(told);
            self.based = true;
        }
    }

    fn end(&mut self, element: Element) {
        if let Element::Flat(name) = element {
            self.write_end(name);
        } else if let Some(at) = self.open.iter().rposition(|open| *open == element) {
            self.close_to(at);
        }
    }

    /// Closes elements until only `count` are open.
    fn close_to(&mut self, count: usize) {
        while self.open.len() > count {
            if let Some(Element::Block(name) | Element::Mark(name) | Element::Inline(name)) = self.open.pop()
            {
                self.write_end(name);
            }
        }
    }

    fn write_end(&mut self, name: &str) {
        self.out.tags += 1;
        self.out.html.push_str("</");
        self.out.html.push_str(name);
        self.out.html.push('>');
    }
}

fn behind_tag(text: &str) -> &str {
    text.split_once('>').map_or("", |(_, rest)| rest)
}

/// The text up to the closing tag `name`, and what follows that.
fn split_closing<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let at = find_tag(text, "</", name)?;
    let (inside, closing) = text.split_at_checked(at)?;
    Some((inside, behind_tag(closing)))
}

/// What follows the end of an element whose start tag was just taken off, others like it inside.
fn behind_element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut depth = 1;
    let mut rest = text;
    while depth > 0 {
        let (inside, after) = split_closing(rest, name)?;
        depth = depth - 1 + count_tags(inside, name);
        rest = after;
    }
    Some(rest)
}

fn count_tags(mut text: &str, name: &str) -> usize {
    let mut count = 0;
    while let Some(at) = find_tag(text, "<", name) {
        count += 1;
        text = text.get(at + 1..).unwrap_or_default();
    }
    count
}

/// Where `start` followed by the tag name `name`, in any case, stands in `text`.
fn find_tag(text: &str, start: &str, name: &str) -> Option<usize> {
    text.match_indices(start).map(|(at, _)| at).find(|at| {
        let rest = text.as_bytes().get(at + start.len()..).unwrap_or_default();
        let same = rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
        same && !rest.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lean(html: &str) -> String {
        tidy(html, None, Detail::Lean).html
    }

    #[test]
    fn titles_are_found_and_links_are_written_out() {
        let base = Url::parse("https://a.example/docs/x?y").unwrap();
        let page = |html: &str| tidy(html, Some(&base), Detail::Lean);
        let titled = page("<title> </title><title>A &amp; B\n &mdash; C</title><title>other</title>x");
        assert_eq!((titled.title.as_deref(), titled.html.as_str()), (Some("A & B — C"), "x"));
        let cases = [
            ("<a href='../up?a=1&amp;b=2'>l</a>", "<a href=\"https://a.example/up?a=1&amp;b=2\">l</a>"),
            ("<a href=//b.example>l</a>", "<a href=\"https://b.example/\">l</a>"),
            ("<a href='#part'>l</a><a href=javascript:x()>m</a>", "<a>l</a><a>m</a>"),
            ("<img src='data:image/png;base64,AAAA' alt=picture>", "<img alt=\"picture\">"),
            (
                "<base href=/root/><base href=/other/><a href=x>l</a>",
                "<a href=\"https://a.example/root/x\">l</a>",
            ),
            ("<base href='javascript:x'><a href=x>l</a>", "<a href=\"https://a.example/docs/x\">l</a>"),
        ];
        for (html, expected) in cases {
            assert_eq!(page(html).html, expected, "{html}");
        }
        let parts =
            tidy("<article class=post id=a><p class=b>x</article></section>", None, Detail::Structure);
        assert_eq!(parts.html, "<article class=\"post\" id=\"a\"><p class=\"b\">x</article>");
        assert_eq!((parts.tags, parts.text), (3, 1));
    }

    #[test]
    fn only_the_readable_part_stays() {
        let cases = [
            ("<!doctype html><HTML><Body class=x>hi</Body>", "hi"),
            ("a<!-- <p> -->b<script>if (a<b) '<div>'</Script >c<style>x</style>", "abc"),
            ("<nav>1<nav>2</nav>3</nav>4<button>5", "45"),
            ("<title>A < B</title>", ""),
            ("<span>1 < 2 <font>x</font></span>", "1 &lt; 2 x"),
            (
                "<a href='/x\"y' onclick=z>l</a><img alt=i src=s>",
                "<a href=\"/x&quot;y\">l</a><img src=\"s\" alt=\"i\">",
            ),
            ("<section><b>x</section>y</b>", "<div><strong>x</strong></div>y"),
            ("<b>x<p>y", "<strong>x</strong><p>y"),
            ("<ul><li>1<li>2</ul></div>", "<ul><li>1<li>2</ul>"),
            ("cut <a href=\"never closed", "cut "),
        ];
        for (html, expected) in cases {
            assert_eq!(lean(html), expected, "{html}");
        }
    }

    #[test]
    fn neither_depth_nor_length_is_without_bound() {
        let deep = lean(&"<div a=\"</div>\"></x>".repeat(100_000));
        assert_eq!(deep, "<div>".repeat(MAX_DEPTH) + &"</div>".repeat(MAX_DEPTH));
        let long = lean(&"<p>x".repeat(200_000));
        assert!(long.matches('<').count() <= MAX_TAGS + 3 && long.ends_with("<p>[page cut here]</p>"));
        for text in ["x\n".repeat(200_000), "x\n</x>".repeat(200_000)] {
            let margins = lean(&format!("{}<pre>{text}", "<ul>".repeat(20)));
            assert_eq!(margins.matches("<ul>").count(), MAX_MARGIN);
            assert_eq!(margins.matches('x').count(), MAX_MARGINS / (2 * MAX_MARGIN) + 1);
        }
        assert_eq!(lean(&"<nav>".repeat(100_000)), "");
    }

    proptest! {
        #[test]
        fn blocks_are_always_balanced(html in "(<(/)?(div|b|a|p|nav|svg|script)( x='<>')?>|<!--|-->|x|<){0,40}") {
            let tidied = lean(&html);
            for name in ["div", "strong", "a"] {
                let (opened, closed) = (format!("<{name}>"), format!("</{name}>"));
                prop_assert_eq!(tidied.matches(&opened).count(), tidied.matches(&closed).count());
            }
            prop_assert!(!tidied.contains("script") && !tidied.contains("nav"));
        }
    }
}
