//! The section "Compact Instructions" of an instruction file: what a summary of the conversation should
//! pay attention to (seed `001`).
//!
//! Of Markdown, this knows what tells headings from text: both kinds of headings, and fenced code, in
//! which there are none.

/// Title of the section, in any case.
const TITLE: &str = "compact instructions";

/// Deepest indentation of a heading or a fence, in blanks; with more, a line is code.
const MAX_INDENT: usize = 3;

/// The sections with the title, without their headings, each up to the next heading of the same or a
/// higher level. One within another is part of it.
pub(super) fn sections(text: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for heading in headings(text) {
        match open {
            Some((level, _)) if heading.level > level => continue,
            Some((_, start)) => sections.push(&text[start..heading.start]),
            None => {}
        }
        open = heading.is_wanted().then_some((heading.level, heading.end));
    }
    sections.extend(open.map(|(_, start)| &text[start..]));
    sections.into_iter().map(without_blank_lines).filter(|section| !section.is_empty()).collect()
}

/// The text without blank lines before and behind it; the first line keeps its indentation.
fn without_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let start = text[..blank].rfind('\n').map_or(0, |newline| newline + 1);
    &text[start..]
}

struct Heading<'a> {
    title: &'a str,
    level: usize,
    /// Where its first line begins.
    start: usize,
    /// Where the text below it begins.
    end: usize,
}

impl Heading<'_> {
    fn is_wanted(&self) -> bool {
        let is_mark = |letter: char| letter.is_whitespace() || matches!(letter, '*' | '_' | ':');
        let words: Vec<&str> = self.title.trim_matches(is_mark).split_whitespace().collect();
        words.join(" ").eq_ignore_ascii_case(TITLE)
    }
}

/// The headings of a text, in order.
fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut headings = Vec::new();
    let mut fence: Option<Fence> = None;
    // Where the paragraph begins that an underline would make a heading of.
    let mut paragraph: Option<usize> = None;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = end;
        end += line.len();
        let line = line.trim_end();
        let content = line.trim_start_matches(' ');
        let is_code = line.len() - content.len() > MAX_INDENT || content.starts_with('\t');
        if let Some(open) = &fence {
            if !is_code && open.is_closed_by(content) {
                fence = None;
            }
        } else if is_code {
            // Below a line of a paragraph it goes on with it.
        } else if let Some(opened) = Fence::opened_by(content) {
            (fence, paragraph) = (Some(opened), None);
        } else if let Some((level, title)) = marked(content) {
            headings.push(Heading { title, level, start, end });
            paragraph = None;
        } else if let (Some(first), Some(level)) = (paragraph, underline(content)) {
            headings.push(Heading { title: &text[first..start], level, start: first, end });
            paragraph = None;
        } else {
            paragraph = is_paragraph(content).then(|| paragraph.unwrap_or(start));
        }
    }
    headings
}

/// Level and title of a line such as `## Title ##`.
fn marked(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    let title = rest.trim_end_matches('#');
    let title = if title.ends_with([' ', '\t']) { title } else { rest };
    is_heading.then(|| (level, title.trim()))
}

/// The level that a line such as `-----` gives to the paragraph above it.
fn underline(line: &str) -> Option<usize> {
    match line.as_bytes() {
        [b'=', rest @ ..] if rest.iter().all(|&byte| byte == b'=') => Some(1),
        [b'-', rest @ ..] if rest.iter().all(|&byte| byte == b'-') => Some(2),
        _ => None,
    }
}

/// Whether a line can be part of a paragraph, rather than blank, a rule, or of a list, a quotation or a
/// table.
fn is_paragraph(line: &str) -> bool {
    let after_number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = after_number.len() < line.len() && after_number.starts_with(['.', ')']);
    let is_item = ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark));
    let is_rule = line.trim_matches(['-', '=', '*', '_', ' ']).is_empty();
    !(is_rule || is_numbered || is_item || line.starts_with(['>', '|']))
}

/// The beginning of fenced code.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        line.len() >= self.length && line.chars().all(|letter| letter == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_reaches_to_the_next_heading_of_its_level_or_above() {
        let cases: &[(&str, &[&str])] = &[
            (
                "# A\n\n## Compact Instructions\n\nKeep ids.\n\n### More\nAnd names.\n\n## B\nb",
                &["Keep ids.\n\n### More\nAnd names."],
            ),
            ("# compact   INSTRUCTIONS #\none\n# Compact instructions:\r\n    two\r\n", &["one", "    two"]),
            ("### **Compact Instructions**\none\n# Top\n### Compact Instructions\n\n", &["one"]),
            (
                "## Compact Instructions\n# Compact Instructions\n## Compact Instructions\nx",
                &["## Compact Instructions\nx"],
            ),
            (
                "Compact Instructions\n====\none\n\nOther\n---\ntwo\n\nEnd\n===\nthree",
                &["one\n\nOther\n---\ntwo"],
            ),
            ("---\nCompact Instructions\n---\none\n***\n===\ntwo", &["one\n***\n===\ntwo"]),
            (
                "## Compact Instructions\n- one\n---\n1. two\n---\n| a |\n---\n",
                &["- one\n---\n1. two\n---\n| a |\n---"],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(sections(text), *expected, "in {text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_the_heading_is_none() {
        for text in [
            "",
            "Compact Instructions\ntext",
            "#Compact Instructions\ntext",
            "####### Compact Instructions\ntext",
            "    # Compact Instructions\ntext",
            "# No compact instructions\ntext",
            "```md\n# Compact Instructions\ntext\n```\n",
            "~~~~\n```\n~~~\n# Compact Instructions\ntext",
        ] {
            assert_eq!(sections(text), [""; 0], "in {text:?}");
        }
    }

    #[test]
    fn fenced_code_ends_no_section() {
        let body = "```sh\n# a comment\n```\n``` not `a` fence\n## Sub";
        let text = format!("# Compact Instructions\n{body}\n# After\n");
        assert_eq!(sections(&text), [body]);
    }
}
