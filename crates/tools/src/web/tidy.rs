//! A page reduced to its readable elements, well nested and of bounded depth.
//!
//! Parsing HTML is quadratic in the depth of unclosed elements, and conversion recursive; a page
//! can be written to exhaust either. What leaves this module cannot: it holds only known elements,
//! closes each one itself, and lets none stand deeper than [`MAX_DEPTH`].

use super::tag::Tag;

/// Elements open at once.
const MAX_DEPTH: usize = 100;
/// Tags of the result; the page is cut there.
const MAX_TAGS: usize = 50_000;

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// Kept, under this name, until it is closed.
    Block(&'static str),
    /// Kept like a block; a block that begins inside ends it.
    Mark(&'static str),
    /// Kept like a block, with blocks inside.
    Inline(&'static str),
    /// Kept; the next of its kind closes it.
    Flat(&'static str),
    /// Kept; holds nothing.
    Void(&'static str),
    /// Left out with its text, which is not markup.
    RawText,
    /// Left out with everything inside.
    Dropped,
    /// Left out; what is inside stays.
    Transparent,
}

/// The readable part of `html`.
pub(super) fn tidy(html: &str) -> String {
    let mut tidy =
        Tidy { out: String::with_capacity(html.len() / 2), open: Vec::new(), tags: 0, endless: Vec::new() };
    let mut rest = html;
    while let Some((text, after)) = rest.split_once('<') {
        tidy.out.push_str(text);
        rest = tidy.markup(after);
        if tidy.tags > MAX_TAGS {
            tidy.close_to(0);
            tidy.out.push_str("<p>[page cut here]</p>");
            return tidy.out;
        }
    }
    tidy.out.push_str(rest);
    tidy.close_to(0);
    tidy.out
}

struct Tidy {
    out: String,
    /// Names of the kept elements that are open, outermost first.
    open: Vec<Element>,
    tags: usize,
    /// Names of which no further end stands in the page.
    endless: Vec<String>,
}

impl Tidy {
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
            self.end(element(&name));
            return behind_tag(closing);
        }
        if !after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.out.push_str("&lt;");
            return after;
        }
        let Some((tag, rest)) = Tag::read(after) else { return "" };
        match element(&tag.name) {
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
                if name == "title" {
                    self.out.push_str(&format!("<p>{}</p>", text.replace('<', "&lt;")));
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
            if self.open.len() == MAX_DEPTH {
                return;
            }
            self.open.push(element);
        }
        self.tags += 1;
        self.out.push('<');
        self.out.push_str(name);
        for kept in kept_attributes(name) {
            if let Some(value) = tag.attribute(kept) {
                let value = value.replace('"', "&quot;").replace('<', "&lt;");
                self.out.push_str(&format!(" {kept}=\"{value}\""));
            }
        }
        self.out.push('>');
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
        self.tags += 1;
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }
}

fn element(name: &str) -> Element {
    match name {
        "div" | "section" | "article" | "main" | "header" | "footer" | "aside" | "form" | "fieldset"
        | "details" | "summary" | "address" | "center" | "figure" | "figcaption" => Element::Block("div"),
        "h1" => Element::Block("h1"),
        "h2" => Element::Block("h2"),
        "h3" => Element::Block("h3"),
        "h4" => Element::Block("h4"),
        "h5" => Element::Block("h5"),
        "h6" => Element::Block("h6"),
        "ul" | "menu" => Element::Block("ul"),
        "ol" => Element::Block("ol"),
        "dl" => Element::Block("dl"),
        "blockquote" => Element::Block("blockquote"),
        "pre" => Element::Block("pre"),
        "table" => Element::Block("table"),
        "a" => Element::Inline("a"),
        "code" => Element::Inline("code"),
        "b" | "strong" => Element::Mark("strong"),
        "i" | "em" => Element::Mark("em"),
        "p" => Element::Flat("p"),
        "li" => Element::Flat("li"),
        "dt" => Element::Flat("dt"),
        "dd" => Element::Flat("dd"),
        "tr" => Element::Flat("tr"),
        "td" => Element::Flat("td"),
        "th" => Element::Flat("th"),
        "thead" => Element::Flat("thead"),
        "tbody" => Element::Flat("tbody"),
        "br" => Element::Void("br"),
        "hr" => Element::Void("hr"),
        "img" => Element::Void("img"),
        "script" | "style" | "noscript" | "iframe" | "textarea" | "title" | "xmp" | "noembed"
        | "noframes" => Element::RawText,
        "nav" | "svg" | "math" | "template" | "select" | "button" | "dialog" | "object" | "canvas"
        | "video" | "audio" => Element::Dropped,
        _ => Element::Transparent,
    }
}

fn kept_attributes(name: &str) -> &'static [&'static str] {
    match name {
        "a" => &["href"],
        "img" => &["src", "alt"],
        // The language of a listing.
        "code" | "pre" => &["class"],
        "ol" => &["start"],
        _ => &[],
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

    #[test]
    fn only_the_readable_part_stays() {
        let cases = [
            ("<!doctype html><HTML><Body class=x>hi</Body>", "hi"),
            ("a<!-- <p> -->b<script>if (a<b) '<div>'</Script >c<style>x</style>", "abc"),
            ("<nav>1<nav>2</nav>3</nav>4<button>5", "45"),
            ("<title>A < B</title>", "<p>A &lt; B</p>"),
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
            assert_eq!(tidy(html), expected, "{html}");
        }
    }

    #[test]
    fn neither_depth_nor_length_is_without_bound() {
        let deep = tidy(&"<div a=\"</div>\"></x>".repeat(100_000));
        assert_eq!(deep, "<div>".repeat(MAX_DEPTH) + &"</div>".repeat(MAX_DEPTH));
        let long = tidy(&"<p>x".repeat(200_000));
        assert!(long.matches('<').count() <= MAX_TAGS + 3 && long.ends_with("<p>[page cut here]</p>"));
        assert_eq!(tidy(&"<nav>".repeat(100_000)), "");
    }

    proptest! {
        #[test]
        fn blocks_are_always_balanced(html in "(<(/)?(div|b|a|p|nav|svg|script)( x='<>')?>|<!--|-->|x|<){0,40}") {
            let tidied = tidy(&html);
            for name in ["div", "strong", "a"] {
                let (opened, closed) = (format!("<{name}>"), format!("</{name}>"));
                prop_assert_eq!(tidied.matches(&opened).count(), tidied.matches(&closed).count());
            }
            prop_assert!(!tidied.contains("script") && !tidied.contains("nav"));
        }
    }
}
