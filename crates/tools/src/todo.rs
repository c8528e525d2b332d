//! TodoWrite: the list of what is still to do, which the model keeps for itself and its user.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::de::value::Error as ValueError;
use serde::de::{Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::failure::Failure;
use crate::input::Named;

/// Entries of a list.
const MAX_TODOS: usize = 100;
/// The longest text of an entry, in characters.
const MAX_CHARS: usize = 500;

/// The list of a session; cloning gives another handle to the same one.
///
/// TodoWrite replaces it as a whole, and hosts read it for showing. A host that goes on with an earlier session
/// may [set](TodoList::set) it.
#[derive(Clone, Debug, Default)]
pub struct TodoList {
    todos: Arc<Mutex<Arc<[Todo]>>>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Todo {
    /// What is to be done, as in "Run the tests".
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// What to show while it is done, as in "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}

/// How far a thing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TodoStatus {
    /// Not begun.
    #[serde(alias = "todo", alias = "not_started", alias = "open")]
    Pending,
    /// Being done.
    #[serde(alias = "in-progress", alias = "inProgress", alias = "active", alias = "doing")]
    InProgress,
    /// Done.
    #[serde(alias = "complete", alias = "done")]
    Completed,
}

impl Todo {
    /// A thing to do with its status.
    #[must_use]
    pub fn new(content: impl Into<String>, status: TodoStatus) -> Self {
        Self { content: content.into(), status, active_form: None }
    }
}

impl TodoList {
    /// The list as it is now, in order.
    #[must_use]
    pub fn todos(&self) -> Arc<[Todo]> {
        self.lock().clone()
    }

    /// Puts another list in its place.
    pub fn set(&self, todos: impl Into<Arc<[Todo]>>) {
        *self.lock() = todos.into();
    }

    fn lock(&self) -> MutexGuard<'_, Arc<[Todo]>> {
        self.todos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct TodoWrite {
    pub(crate) list: TodoList,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TodoInput {
    #[serde(alias = "plan", alias = "items")]
    #[schemars(with = "Vec<Entry>")]
    todos: Vec<Named<Entry>>,
}

// An entry as models write it; doc comments would be paid for in every request.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(alias = "step", alias = "text", alias = "task", alias = "title")]
    content: String,
    #[serde(deserialize_with = "status")]
    #[schemars(with = "Status")]
    status: TodoStatus,
    #[serde(default, alias = "active_form")]
    #[schemars(with = "String")]
    active_form: Option<String>,
}

/// A status under any of its names; what is wrong is told with the three of the schema.
fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TodoStatus, D::Error> {
    let written = String::deserialize(deserializer)?;
    TodoStatus::deserialize(written.as_str().into_deserializer()).map_err(|_: ValueError| {
        D::Error::custom(format_args!(
            "`{written}` is no status; there are pending, in_progress and completed"
        ))
    })
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "it is the schema of a status, without descriptions")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Tool for TodoWrite {
    type Input = TodoInput;

    fn describe(&self) -> ToolSpec {
        let description = "Replaces your list of steps, which the user sees. For work of several steps; keep one \
                           in_progress.";
        let mut spec = ToolSpec::new("TodoWrite", ToolClass::Inspect, description)
            .with_spellings(&[("todos", &["plan", "items"])]);
        // The last of two calls must win, so they do not run beside each other.
        spec.idempotent = true;
        spec
    }

    fn access(&self, _: &TodoInput) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, input: TodoInput, _: ToolContext) -> ToolResult {
        Ok(self.replace(input).unwrap_or_else(ToolOutcome::from))
    }
}

impl TodoWrite {
    fn replace(&self, input: TodoInput) -> Result<ToolOutcome, Failure> {
        let todos = checked(input)?;
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let (pending, active, done) =
            (count(TodoStatus::Pending), count(TodoStatus::InProgress), count(TodoStatus::Completed));
        let mut text =
            format!("{} todos: {done} completed, {active} in progress, {pending} pending", todos.len());
        if active > 1 {
            text.push_str("; work on one at a time");
        }
        let facts = json!({"todos": todos, "pending": pending, "inProgress": active, "completed": done});
        self.list.set(todos);
        Ok(ToolOutcome::success(text).with_structured(facts))
    }
}

fn checked(input: TodoInput) -> Result<Vec<Todo>, Failure> {
    let count = input.todos.len();
    if count > MAX_TODOS {
        let message = format!("at most {MAX_TODOS} todos fit in the list; these are {count}");
        return Err(Failure::new("invalid_argument", message));
    }
    let todos = input.todos.into_iter().enumerate().map(|(at, Named(entry))| {
        let Entry { content, status, active_form } = entry;
        let refused =
            |why: &str| Failure::new("invalid_argument", format!("todo {} of {count} {why}", at + 1));
        if content.trim().is_empty() {
            return Err(refused("says nothing"));
        }
        let is_long = |text: &str| text.chars().nth(MAX_CHARS).is_some();
        if is_long(&content) || active_form.as_deref().is_some_and(is_long) {
            return Err(refused(&format!("is longer than {MAX_CHARS} characters")));
        }
        Ok(Todo { content, status, active_form: active_form.filter(|form| !form.trim().is_empty()) })
    });
    todos.collect()
}
