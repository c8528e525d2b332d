//! `robota permissions check`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use robota_core::{PermissionMode, PermissionPolicy, Rule, RuleSet};
use robota_tools::Workspace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::call::Toolbox;
use super::name_of;
use super::rows::{answer_each, without_place};
use crate::exit::{Exit, Failure};
use crate::host::Host;

/// A call to be decided, and all that its verdict depends on.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    rules: Option<&'a RawValue>,
    #[serde(borrow)]
    mode: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: &'a RawValue,
    #[serde(borrow)]
    tool: &'a RawValue,
    #[serde(borrow)]
    args: &'a RawValue,
}

/// Rules as a settings file has them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules<'a> {
    #[serde(borrow)]
    deny: Option<&'a RawValue>,
    #[serde(borrow)]
    ask: Option<&'a RawValue>,
    #[serde(borrow)]
    allow: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a RawValue,
    verdict: &'static str,
    reason: &'a str,
    rule: Option<&'a str>,
}

pub(super) fn run() -> Result<Exit, Failure> {
    let mut judge = Judge { home: Host::of_process()?.paths()?.home, place: None, rules: None };
    answer_each(|line| judge.answer(line))
}

/// Decides row after row. Rows that follow each other often share folder and rules, which are then read once.
struct Judge {
    home: Option<PathBuf>,
    place: Option<Place>,
    /// The rules of the last row, and their text.
    rules: Option<(String, RuleSet)>,
}

/// A workspace, and its tools.
struct Place {
    folder: PathBuf,
    /// Device and number of the folder: another one may stand there later.
    identity: (u64, u64),
    tools: Toolbox,
}

impl Judge {
    fn answer(&mut self, line: &str) -> Result<String, String> {
        let row = parse(line)?;
        let mode = row.mode.map_or(Ok(PermissionMode::default()), mode)?;
        let cwd: PathBuf = value("cwd", row.cwd, "a string")?;
        let tool: String = value("tool", row.tool, "a string")?;
        if tool.is_empty() {
            return Err("`tool` is empty".to_owned());
        }
        let rules = self.rules(row.rules)?;
        let place = self.place(&cwd)?;
        let folder = place.folder.clone();
        let call = place.tools.call(&tool, row.args)?;
        let policy = PermissionPolicy {
            mode,
            rules,
            roots: vec![folder.clone()],
            cwd: folder,
            home: self.home.clone(),
            protected_dirs: Vec::new(),
            confinement: None,
        };
        let verdict = policy.evaluate(&call.spec, &call.access);
        let answer = Answer {
            id: row.id,
            verdict: name_of(verdict.decision),
            reason: &verdict.reason,
            rule: verdict.rule.as_deref(),
        };
        serde_json::to_string(&answer).map_err(|error| format!("the verdict cannot be written: {error}"))
    }

    fn place(&mut self, cwd: &Path) -> Result<&Place, String> {
        let unusable = |what: &str| format!("`cwd`: {}: {what}", cwd.display());
        let folder = cwd.canonicalize().map_err(|error| unusable(&error.to_string()))?;
        let found = fs::metadata(&folder).map_err(|error| unusable(&error.to_string()))?;
        if !found.is_dir() {
            return Err(unusable("not a folder"));
        }
        let identity = (found.dev(), found.ino());
        let last = self.place.take().filter(|last| last.identity == identity && last.folder == folder);
        Ok(self.place.insert(last.unwrap_or_else(|| {
            let workspace = Workspace::new(&folder, [], self.home.clone());
            Place { folder, identity, tools: Toolbox::new(workspace) }
        })))
    }

    fn rules(&mut self, rules: Option<&RawValue>) -> Result<RuleSet, String> {
        let text = rules.map_or("{}", RawValue::get);
        if let Some((last, rules)) = &self.rules
            && last == text
        {
            return Ok(rules.clone());
        }
        if !text.starts_with('{') {
            return Err("`rules` must be an object".to_owned());
        }
        let given: Rules<'_> =
            serde_json::from_str(text).map_err(|error| format!("`rules`: {}", without_place(&error)))?;
        let given = RuleSet {
            deny: parsed("deny", given.deny)?,
            ask: parsed("ask", given.ask)?,
            allow: parsed("allow", given.allow)?,
        };
        let rules = RuleSet::join([RuleSet::seed_defaults(), given]);
        self.rules = Some((text.to_owned(), rules.clone()));
        Ok(rules)
    }
}

fn parse(line: &str) -> Result<Row<'_>, String> {
    if !line.trim_start().starts_with('{') {
        return Err("the line is not a JSON object".to_owned());
    }
    serde_json::from_str(line).map_err(|error| match error.classify() {
        Category::Data => without_place(&error),
        _ => format!("the line is not JSON: {} at column {}", without_place(&error), error.column()),
    })
}

fn value<T: DeserializeOwned>(field: &str, raw: &RawValue, expected: &str) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|_| format!("`{field}` must be {expected}"))
}

fn mode(raw: &RawValue) -> Result<PermissionMode, String> {
    let text: String = value("mode", raw, "a string")?;
    text.parse().map_err(|error: robota_core::InvalidMode| error.to_string())
}

/// The rules of one list; reasons name them by their place in it.
fn parsed(list: &str, texts: Option<&RawValue>) -> Result<Vec<Rule>, String> {
    let Some(texts) = texts else { return Ok(Vec::new()) };
    let texts: Vec<Value> = value(&format!("rules.{list}"), texts, "a list")?;
    let rule = |(index, text): (usize, &Value)| {
        let origin = format!("rules.{list}[{index}]");
        let text = text.as_str().ok_or_else(|| format!("`{origin}` must be a string"))?;
        Rule::parse(text, &origin).map_err(|error| format!("`{origin}`: {error}"))
    };
    texts.iter().enumerate().map(rule).collect()
}
