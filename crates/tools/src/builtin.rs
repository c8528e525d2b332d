//! The ten tools, put together from what the host gives.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::{DynTool, erase};

use crate::ask::{AskUserQuestion, QuestionAsker};
use crate::bash::Bash;
use crate::files::{Edit, Read, Write};
use crate::process::{Confine, find_shell, without_interaction};
use crate::search::{Glob, Grep};
use crate::todo::{TodoList, TodoWrite};
use crate::web::{
    AddressPolicy, NameService, SearchBackend, SystemNames, WebFetch, WebFetchOptions, WebSearch,
};
use crate::workspace::Workspace;

/// What the built-in tools need of their host.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolOptions {
    /// The folders, and what the model has seen in them.
    pub workspace: Workspace,
    /// The environment of commands; see [`crate::process::child_environment`] for what to leave out.
    /// Pagers, colours, editors and prompts are switched off in any case.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell that runs commands; called as `shell -c COMMAND`.
    pub shell: PathBuf,
    /// Confines the commands of Bash; without it they run as this process does.
    pub confinement: Option<Arc<dyn Confine>>,
    /// Which addresses WebFetch may reach.
    pub address_policy: AddressPolicy,
    /// How WebFetch behaves otherwise.
    pub web_fetch: WebFetchOptions,
    /// Where WebFetch looks names up; each is looked up once for each request.
    pub names: Arc<dyn NameService>,
    /// Files and folders that Glob, Grep and lists of similar names leave out, because permission rules
    /// deny reading them; what lies below such a folder is left out with it. Asked for every file of a
    /// tree, from several threads.
    pub unreadable: Option<PathFilter>,
    /// The search engine; without one, WebSearch says how to set it up.
    pub search: Option<Arc<dyn SearchBackend>>,
    /// Puts questions to the user; without one, AskUserQuestion says that nobody can answer.
    pub asker: Option<Arc<dyn QuestionAsker>>,
    /// What TodoWrite replaces.
    pub todos: TodoList,
}

/// Says of an absolute path whether something holds for it.
pub type PathFilter = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl ToolOptions {
    /// Tools for `workspace` whose commands run in `environment`, in the first `bash` of its `PATH`
    /// or else `/bin/sh`; WebFetch reaches public addresses only, by the names of the
    /// system, and no search engine is set up.
    #[must_use]
    pub fn new(workspace: Workspace, environment: Vec<(OsString, OsString)>) -> Self {
        let path = environment.iter().find(|(name, _)| name == OsStr::new("PATH"));
        let shell = find_shell(path.map(|(_, value)| value.as_os_str()));
        Self {
            workspace,
            environment,
            shell,
            confinement: None,
            address_policy: AddressPolicy::default(),
            web_fetch: WebFetchOptions::default(),
            names: Arc::new(SystemNames),
            unreadable: None,
            search: None,
            asker: None,
            todos: TodoList::default(),
        }
    }
}

impl fmt::Debug for ToolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment may hold secrets of the user.
        f.debug_struct("ToolOptions")
            .field("workspace", &self.workspace)
            .field("shell", &self.shell)
            .field("address_policy", &self.address_policy)
            .finish_non_exhaustive()
    }
}

/// Bash, Read, Write, Edit, Glob, Grep, WebFetch, WebSearch, AskUserQuestion and TodoWrite, in this order.
#[must_use]
pub fn builtin_tools(options: ToolOptions) -> Vec<Arc<dyn DynTool>> {
    let ToolOptions { workspace, environment, shell, confinement, .. } = options;
    let ToolOptions { address_policy, web_fetch, names, unreadable, search, asker, todos, .. } = options;
    let workspace = workspace.leaving_out(unreadable);
    let environment = without_interaction(&environment);
    vec![
        erase(Bash { workspace: workspace.clone(), shell, environment, confinement }),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use robota_core::Tool;
    use serde::Deserialize;
    use serde::de::value::Error;
    use serde::de::{Deserializer, Error as _, Visitor};

    use super::*;

    /// Tells every name that the fields of a struct have.
    struct Names;

    impl<'de> Deserializer<'de> for Names {
        type Error = Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(Error::custom("no struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Error> {
            Err(Error::custom(fields.join(" ")))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    fn taken<T: Tool>() -> BTreeSet<String> {
        let names = T::Input::deserialize(Names).err().map(|error| error.to_string()).unwrap_or_default();
        names.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn hooks_know_every_name_that_an_argument_can_have() {
        let workspace = Workspace::new("/", [], None);
        let tools = builtin_tools(ToolOptions::new(workspace, Vec::new()));
        let taken = [
            taken::<Bash>(),
            taken::<Read>(),
            taken::<Write>(),
            taken::<Edit>(),
            taken::<Glob>(),
            taken::<Grep>(),
            taken::<WebFetch>(),
            taken::<WebSearch>(),
            taken::<AskUserQuestion>(),
            taken::<TodoWrite>(),
        ];
        assert_eq!(tools.len(), taken.len());
        for (tool, taken) in tools.iter().zip(taken) {
            let spec = tool.spec();
            let others: BTreeSet<&str> =
                spec.spellings.iter().flat_map(|(_, others)| *others).copied().collect();
            let known = spec.spellings.iter().map(|(known, _)| *known);
            let told: BTreeSet<&str> =
                taken.iter().map(String::as_str).filter(|name| !others.contains(name)).collect();
            let properties = spec.input_schema["properties"].as_object().map_or(0, serde_json::Map::len);
            assert_eq!(told.len(), properties, "{}: one name for each argument: {told:?}", spec.name);
            assert!(known.clone().all(|known| told.contains(known)), "{}: {told:?}", spec.name);
            assert!(others.iter().all(|other| taken.contains(*other)), "{}: {others:?}", spec.name);
        }
    }
}
