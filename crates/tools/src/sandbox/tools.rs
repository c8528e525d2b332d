//! The built-in tools in a sandbox.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use robota_core::{DynTool, erase};

use super::bash::SandboxBash;
use super::port::Sandbox;
use super::remote::SandboxFiles;
use crate::ask::{AskUserQuestion, QuestionAsker};
use crate::builtin::PathFilter;
use crate::files::{Edit, Read, Write};
use crate::search::{Glob, Grep};
use crate::todo::{TodoList, TodoWrite};
use crate::web::{
    AddressPolicy, NameService, SearchBackend, SystemNames, WebFetch, WebFetchOptions, WebSearch,
};
use crate::workspace::Workspace;

/// What the tools in a sandbox need of their host.
#[derive(Clone)]
#[non_exhaustive]
pub struct SandboxToolOptions {
    /// Variables of commands, over those of the sandbox. Pagers, colours and prompts are switched off by default.
    pub environment: BTreeMap<String, String>,
    /// Files and folders that Glob, Grep and lists of similar names leave out, as paths of the sandbox; nor are they
    /// read by a symlink that leads to them.
    pub unreadable: Option<PathFilter>,
    /// Which addresses WebFetch may reach; it runs on this machine.
    pub address_policy: AddressPolicy,
    /// How WebFetch names itself and keeps pages.
    pub web_fetch: WebFetchOptions,
    /// Where WebFetch looks names up.
    pub names: Arc<dyn NameService>,
    /// The search engine; without one, WebSearch says how to set it up.
    pub search: Option<Arc<dyn SearchBackend>>,
    /// Asks the user; without one, AskUserQuestion says that nobody can be asked.
    pub asker: Option<Arc<dyn QuestionAsker>>,
    /// Where TodoWrite keeps the list.
    pub todos: TodoList,
}

impl Default for SandboxToolOptions {
    fn default() -> Self {
        let quiet = crate::process::without_interaction(&[]);
        let quiet = quiet
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self {
            environment: quiet.collect(),
            unreadable: None,
            address_policy: AddressPolicy::default(),
            web_fetch: WebFetchOptions::default(),
            names: Arc::new(SystemNames),
            search: None,
            asker: None,
            todos: TodoList::default(),
        }
    }
}

impl fmt::Debug for SandboxToolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets of the user.
        f.debug_struct("SandboxToolOptions")
            .field("address_policy", &self.address_policy)
            .finish_non_exhaustive()
    }
}

/// The tools of [`builtin_tools`](crate::builtin_tools) in their order, with the specs they have everywhere.
///
/// Every command runs in `sandbox` and every file is one of it; nothing touches this machine but the two tools of
/// the web. Paths are the sandbox's, told apart by their names alone, and so permission rules are to name them. To
/// be made and used in a tokio runtime.
#[must_use]
pub fn sandboxed_tools(sandbox: Arc<dyn Sandbox>, options: SandboxToolOptions) -> Vec<Arc<dyn DynTool>> {
    let SandboxToolOptions { environment, unreadable, address_policy, web_fetch, names, .. } = options;
    let SandboxToolOptions { search, asker, todos, .. } = options;
    let files = SandboxFiles::new(Arc::clone(&sandbox), unreadable.clone());
    let workspace = Workspace::elsewhere(sandbox.root(), Arc::new(files)).leaving_out(unreadable);
    vec![
        erase(SandboxBash { sandbox, workspace: workspace.clone(), environment }),
        erase(Read::new(workspace.clone())),
        erase(Write { workspace: workspace.clone() }),
        erase(Edit { workspace: workspace.clone() }),
        erase(Glob { workspace: workspace.clone() }),
        erase(Grep { workspace }),
        erase(WebFetch::new(address_policy, names, web_fetch)),
        erase(WebSearch { backend: search }),
        erase(AskUserQuestion { asker }),
        erase(TodoWrite { list: todos }),
    ]
}
