//! The engine as its callers see it: rules and a call in, a verdict out.

mod command_properties;
mod commands;
mod confinement;
mod corpus_commands;
mod modes;
mod paths;
mod properties;
mod protected;
mod reading;
mod reasons;

use std::path::PathBuf;

use super::{Decision, PermissionMode, PermissionPolicy, Rule, RuleSet, Verdict};
use crate::{Access, PathAccess, ToolClass, ToolSpec};

/// A policy for the workspace `/work/app` with the additional directory `/work/lib`.
fn policy(mode: PermissionMode, deny: &[&str], ask: &[&str], allow: &[&str]) -> PermissionPolicy {
    let parse =
        |rules: &[&str]| rules.iter().map(|rule| Rule::parse(rule, "user settings").unwrap()).collect();
    PermissionPolicy {
        mode,
        rules: RuleSet { deny: parse(deny), ask: parse(ask), allow: parse(allow) },
        roots: vec![PathBuf::from("/work/app"), PathBuf::from("/work/lib")],
        cwd: PathBuf::from("/work/app"),
        home: Some(PathBuf::from("/home/ada")),
        protected_dirs: vec![PathBuf::from("/srv/robota")],
        confinement: None,
    }
}

fn tool(name: &str) -> ToolSpec {
    let class = match name {
        "Read" | "Glob" | "Grep" | "WebSearch" => ToolClass::Inspect,
        "Write" | "Edit" => ToolClass::Modify,
        "Bash" => ToolClass::Execute,
        "WebFetch" => ToolClass::Network,
        _ => ToolClass::Other,
    };
    ToolSpec::new(name, class, "")
}

fn command(command: &str) -> Access {
    command_in("/work/app", command)
}

fn command_in(folder: &str, command: &str) -> Access {
    Access::Command { command: command.to_owned(), cwd: PathBuf::from(folder) }
}

/// The path access of the tool `name`, where the path is no symlink.
fn path(name: &str, path: &str) -> Access {
    linked_path(name, path, path)
}

fn linked_path(name: &str, requested: &str, resolved: &str) -> Access {
    let kind = match name {
        "Glob" | "Grep" => PathAccess::Search,
        "Write" | "Edit" => PathAccess::Write,
        _ => PathAccess::Read,
    };
    Access::Path { kind, requested: requested.to_owned(), resolved: PathBuf::from(resolved) }
}

fn host(host: &str) -> Access {
    Access::Url { url: format!("https://{host}/"), host: host.to_owned() }
}

fn name(name: &str) -> Access {
    Access::Name { name: name.to_owned() }
}

impl PermissionPolicy {
    fn bash(&self, text: &str) -> Verdict {
        self.evaluate(&tool("Bash"), &[command(text)])
    }

    fn on_path(&self, name: &str, text: &str) -> Verdict {
        self.evaluate(&tool(name), &[path(name, text)])
    }
}

fn allows(rule: &str, text: &str) -> bool {
    policy(PermissionMode::Default, &[], &[], &[rule]).bash(text).decision == Decision::Allow
}

fn denies(rule: &str, text: &str) -> bool {
    policy(PermissionMode::BypassPermissions, &[rule], &[], &[]).bash(text).decision == Decision::Deny
}
