//! The elements of HTML that a readable page has, and what becomes of the others.

/// What is kept of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// What Markdown can say.
    Lean,
    /// Also which part of the page a block says it is, by its name, class and id.
    Structure,
}

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
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

/// What becomes of the elements of that name, in lower case.
pub(super) fn element(name: &str, detail: Detail) -> Element {
    if let (Detail::Structure, Some(part)) = (detail, part(name)) {
        return Element::Block(part);
    }
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

/// Whether Markdown has a mark of the element at the beginning of each line inside.
pub(super) fn has_margin(element: &Element) -> bool {
    matches!(element, Element::Block("ul" | "ol" | "blockquote"))
}

/// The blocks whose names say which part of a page they are.
fn part(name: &str) -> Option<&'static str> {
    let parts = ["section", "article", "main", "header", "footer", "aside", "form", "figure", "figcaption"];
    parts.into_iter().find(|part| *part == name)
}

pub(super) fn kept_attributes(name: &str) -> &'static [&'static str] {
    match name {
        "a" => &["href"],
        "img" => &["src", "alt"],
        // The language of a listing.
        "code" | "pre" => &["class"],
        "ol" => &["start"],
        _ => &[],
    }
}
