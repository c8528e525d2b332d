//! Permission rules: `Tool` or `Tool(pattern)`.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use super::command::CommandPattern;
use super::domain_pattern::DomainPattern;
use super::name_pattern::NamePattern;
use super::path_pattern::{PathPattern, escape};

/// One rule, as written in settings or on the command line (seed `001`, Permission System).
///
/// `Tool` alone and `Tool(*)` mean every call of the tool; names are case-sensitive.
///
/// - `Bash(git status)`, `Bash(git *)`, `Bash(npm run test:*)` are written like commands. `*` stands
///   for any characters, over several words too, and within double quotes for any of one word; `\*`
///   is the character itself. A trailing ` *` or `:*` stands for any further words, or none.
/// - `Read(…)`, `Edit(…)`, `Write(…)`, `Glob(…)`, `Grep(…)` take a path: `/src/**` and `src/**` are
///   relative to the first root, `//abs/**` is absolute, `~/x` is in the home folder, and a name
///   without `/`, such as `*.env`, is looked for at any depth. `*` and `?` stay within a name, `**`
///   crosses `/`, and a pattern that ends in a literal name covers what lies below it. `Edit(…)`
///   is about Write too, and `Read(…)` about Grep and Glob.
/// - `WebFetch(domain:example.com)` covers the host and its subdomains, `domain:*.example.com` only
///   the subdomains.
/// - `mcp__server`, `mcp__server__*`, `mcp__server__tool` name tools of an MCP server.
/// - `Agent(explore)`, `Skill(deploy)` name a type of agent, a skill; `Skill(plugin:*)` and `Skill(deploy *)` also
///   what begins so and goes on behind a blank or a colon.
/// - Names of Claude Code are understood: `Task` is `Agent`, `MultiEdit` is `Edit`, and `NotebookEdit` is `Edit`
///   of notebooks.
/// - Patterns of other tools are kept, but nothing can be told from them: an allow rule with one
///   covers nothing, a deny or ask rule with one makes every call of the tool ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    text: Box<str>,
    origin: Option<Arc<str>>,
    pub(super) tool: ToolName,
    pub(super) pattern: Option<Pattern>,
}

/// How the names of notebooks end.
const NOTEBOOK: &str = ".ipynb";

/// Which tools a rule names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolName {
    /// The tool with this name.
    Exact(Box<str>),
    /// Every tool whose name begins so.
    Prefix(Box<str>),
    /// Every tool that does more than look, by what it declares; not written by anybody.
    Changing,
}

/// What a rule says about a call of its tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    /// An agent's type, a skill's name.
    Name(NamePattern),
    /// A pattern of a tool whose arguments rules know nothing about.
    Opaque,
}

impl Rule {
    /// Reads a rule that comes from `origin`, for example `user settings`; the origin appears in reasons.
    ///
    /// # Errors
    ///
    /// When the text is not a rule; the error says what is wrong with it.
    pub fn parse(text: &str, origin: &str) -> Result<Self, InvalidRule> {
        let mut rule: Self = text.parse()?;
        rule.origin = Some(origin.into());
        Ok(rule)
    }

    /// A deny rule about every tool that does more than look: what changes files, runs programs, comes from an
    /// MCP server, or says nothing of its effects.
    pub(super) fn about_changes(origin: &str) -> Self {
        Self {
            text: "read-only".into(),
            origin: Some(origin.into()),
            tool: ToolName::Changing,
            pattern: None,
        }
    }

    /// An allow rule for reading and searching what lies in `folder`, which is absolute and resolved; `None` when its
    /// name is no text, so that no rule can be written about it.
    #[must_use]
    pub fn reading_below(folder: &Path, origin: &str) -> Option<Self> {
        let text = format!("Read(/{}/**)", escape(folder.to_str()?));
        folder.is_absolute().then(|| Self::parse(&text, origin).ok())?
    }

    /// The rule as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the rule comes from, when that is known.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A rule that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a permission rule: {reason}")]
pub struct InvalidRule {
    text: String,
    reason: String,
}

impl InvalidRule {
    /// The text that was to be a rule.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let invalid = |reason| InvalidRule { text: text.to_owned(), reason };
        let (name, pattern) = split(text).map_err(invalid)?;
        let tool = ToolName::parse(own_name(name)).map_err(invalid)?;
        let pattern = pattern.map(|pattern| Pattern::parse(own_name(name), pattern)).transpose();
        let mut pattern = pattern.map_err(invalid)?.flatten();
        if name == "NotebookEdit" {
            pattern = Some(of_notebooks(pattern).map_err(invalid)?);
        }
        Ok(Self { text: text.into(), origin: None, tool, pattern })
    }
}

/// The name by which robota knows a tool that Claude Code calls `name`.
fn own_name(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "MultiEdit" | "NotebookEdit" => "Edit",
        name => name,
    }
}

/// A pattern of `NotebookEdit`, which never was about other files.
fn of_notebooks(pattern: Option<Pattern>) -> Result<Pattern, String> {
    match pattern {
        Some(Pattern::Path(pattern)) => Ok(Pattern::Path(pattern.ending_in(NOTEBOOK))),
        _ => PathPattern::parse("*.ipynb").map(Pattern::Path),
    }
}

/// The name, and the text between the parentheses.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    let Some((name, rest)) = text.split_once('(') else {
        return if text.contains(')') {
            Err("the `)` has no `(` before it".into())
        } else {
            Ok((text, None))
        };
    };
    let name = name.trim_end();
    let Some(pattern) = rest.strip_suffix(')') else {
        let reason =
            if rest.contains(')') { "text follows the closing `)`" } else { "the `(` is not closed" };
        return Err(reason.into());
    };
    check_parentheses(pattern, name == "Bash")?;
    let pattern = trim_pattern(pattern);
    if pattern.is_empty() {
        return Err(format!("the pattern is empty; write `{name}` alone for every call"));
    }
    Ok((name, Some(pattern)))
}

/// Parentheses within a pattern are escaped, or quoted in a command, or come in pairs.
fn check_parentheses(pattern: &str, has_quotes: bool) -> Result<(), String> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote != Some('\'') => {
                chars.next().ok_or("the last `)` is escaped, so the `(` is not closed")?;
            }
            '\'' | '"' if has_quotes && quote.is_none() => quote = Some(c),
            _ if quote.is_some() => quote = quote.filter(|open| *open != c),
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1).ok_or(
                    "text follows the closing `)`; write `\\)` for a parenthesis that belongs to the pattern",
                )?;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err("a `(` in the pattern is not closed; write `\\(` for the character itself".into());
    }
    Ok(())
}

/// Blanks around a pattern do not count, except the last one behind a backslash.
fn trim_pattern(pattern: &str) -> &str {
    let pattern = pattern.trim_start();
    let trimmed = pattern.trim_end();
    let escapes = trimmed.len() - trimmed.trim_end_matches('\\').len();
    let escaped =
        pattern.get(trimmed.len()..).and_then(|blanks| blanks.chars().next()).filter(|_| escapes % 2 == 1);
    let end = trimmed.len() + escaped.map_or(0, char::len_utf8);
    pattern.get(..end).unwrap_or(trimmed)
}

impl ToolName {
    fn parse(name: &str) -> Result<Self, String> {
        if name.is_empty() {
            return Err("the tool's name is missing".into());
        }
        let literal = name.strip_suffix('*').unwrap_or(name);
        if !literal.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
            return Err("a tool's name consists of letters, digits, `_` and `-`".into());
        }
        let in_server = literal.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let names_server = in_server.is_some_and(|(server, _)| !server.is_empty());
        if literal.len() < name.len() {
            return if names_server {
                Ok(Self::Prefix(literal.into()))
            } else {
                Err("`*` in a tool's name may only follow a server, as in `mcp__server__*`".into())
            };
        }
        let is_server = name.strip_prefix("mcp__").is_some_and(|server| !server.is_empty()) && !names_server;
        Ok(if is_server { Self::Prefix(format!("{name}__").into()) } else { Self::Exact(name.into()) })
    }

    /// Whether the rule names the tool `name`.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *own_name(name),
            Self::Prefix(prefix) => name.starts_with(&**prefix),
            Self::Changing => false,
        }
    }

    /// Whether the rule is written for the built-in tool `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Self::Exact(exact) if **exact == *name)
    }
}

impl Pattern {
    /// `None` when the pattern means every call.
    fn parse(tool: &str, text: &str) -> Result<Option<Self>, String> {
        if text == "*" {
            return Ok(None);
        }
        Ok(Some(match tool {
            "Bash" => Self::Command(CommandPattern::parse(text)?),
            "Read" | "Write" | "Edit" | "Glob" | "Grep" => Self::Path(PathPattern::parse(text)?),
            "WebFetch" if text == "domain:*" => return Ok(None),
            "WebFetch" => Self::Domain(DomainPattern::parse(text)?),
            "Agent" | "Skill" => Self::Name(NamePattern::parse(text)?),
            _ if tool.starts_with("mcp__") => return Err("rules for MCP tools take no pattern".into()),
            _ => Self::Opaque,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        text.parse::<Rule>().expect_err(text).reason().to_owned()
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said() {
        for (text, expected) in [
            ("", "name is missing"),
            ("(x)", "name is missing"),
            ("Bash(git *", "`(` is not closed"),
            ("Bash git *)", "no `(` before"),
            ("Bash(a) Bash(b)", "text follows"),
            ("Bash(git *) x", "text follows"),
            ("Read(a(b)", "not closed"),
            ("Read(a\\)", "not closed"),
            ("Read()", "pattern is empty"),
            ("Read( )", "pattern is empty"),
            ("Bash(:*)", "no command"),
            ("Read([a)", "`[` is not closed"),
            ("Read([z-a])", "range"),
            ("Read({a,b)", "`{` is not closed"),
            ("Read(a})", "no `{`"),
            ("Read({a,{b}})", "braces within braces"),
            ("Read({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})", "more than 64"),
            ("Read(a/../b)", "`..`"),
            ("Read(!a)", "negated"),
            ("Read(~root/x)", "home folder"),
            ("WebFetch(example.com)", "domain:"),
            ("WebFetch(domain:)", "domain is missing"),
            ("mcp__*", "follow a server"),
            ("mcp__*__x", "letters, digits"),
            ("*", "follow a server"),
            ("Ba*", "follow a server"),
            ("mcp__a__b(x)", "no pattern"),
            ("Bash\n(x)\u{7}", "text follows"),
            ("Böse", "letters, digits"),
        ] {
            assert!(reason(text).contains(expected), "{text}: {}", reason(text));
        }
    }

    #[test]
    fn good_rules_keep_their_text_and_origin() {
        let rule = Rule::parse(" Bash(npm run test:*) ", "user settings").unwrap();
        assert_eq!((rule.text(), rule.origin()), ("Bash(npm run test:*)", Some("user settings")));
        for text in
            ["Bash", "Bash(*)", "Bash(echo (x))", "Bash(echo ')')", "Read(a\\(b)", "Read(a\\ )", "Agent(x)"]
        {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_of_servers_cover_their_tools() {
        for (rule, tool, expected) in [
            ("mcp__git", "mcp__git__log", true),
            ("mcp__git", "mcp__github__log", false),
            ("mcp__git__*", "mcp__git__log", true),
            ("mcp__git__get_*", "mcp__git__get_log", true),
            ("mcp__git__get_*", "mcp__git__set_log", false),
            ("mcp__git__log", "mcp__git__log_all", false),
            ("bash", "Bash", false),
        ] {
            assert_eq!(rule.parse::<Rule>().unwrap().tool.matches(tool), expected, "{rule} {tool}");
        }
    }
}
