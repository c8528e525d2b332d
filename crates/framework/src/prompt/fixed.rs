//! The part of the prompt that is the same in every project.
//!
//! It stands in `fixed.md`. Every sentence there is paid for in every session: it must change what
//! the model does, or go. A line that begins with tool names in braces is left out when the model does
//! not have all of them; `{*}` means any tool at all.

use super::PromptSection;

const TEXT: &str = include_str!("fixed.md");

/// The text before the first section: who the model is here.
pub(super) fn introduction() -> &'static str {
    TEXT.split("\n## ").next().unwrap_or_default().trim_end()
}

/// The fixed sections, as far as they concern `tools`, with the priorities 1, 2 and so on.
pub(super) fn sections(tools: &[&str]) -> Vec<PromptSection> {
    let texts = TEXT.split("\n## ").skip(1);
    (1..).zip(texts).map(|(priority, text)| section(priority, text, tools)).collect()
}

fn section(priority: u8, text: &str, tools: &[&str]) -> PromptSection {
    let (title, lines) = text.split_once('\n').unwrap_or((text, ""));
    let mut body = String::with_capacity(lines.len());
    for line in lines.lines().filter_map(|line| line_for(line, tools)) {
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str("- ");
        body.push_str(line);
    }
    PromptSection { priority, title: title.to_owned(), body }
}

/// The sentence of a line, when the model has the tools it is about.
fn line_for<'a>(line: &'a str, tools: &[&str]) -> Option<&'a str> {
    let line = line.strip_prefix("- ")?;
    let Some((needed, sentence)) = line.strip_prefix('{').and_then(|rest| rest.split_once("} ")) else {
        return Some(line);
    };
    let has = |name: &str| if name == "*" { !tools.is_empty() } else { tools.contains(&name) };
    needed.split(' ').all(has).then_some(sentence)
}
