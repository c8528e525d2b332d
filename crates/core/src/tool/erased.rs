//! The dyn form of a tool: arguments are parsed once, checked, and then run as checked.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use super::{Access, Tool, ToolContext, ToolResult, ToolSpec, read_arguments};

/// A tool without its input type.
pub trait DynTool: Send + Sync {
    /// Name, schema, class and safety.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Reads the arguments the model wrote, without doing anything yet.
    ///
    /// Empty text counts as `{}`.
    ///
    /// # Errors
    ///
    /// When the text is not JSON or does not fit the schema. The message is for the model.
    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments>;
}

/// A call whose arguments are read: what it would touch, and the way to run it.
///
/// The arguments that were checked are the ones that run.
pub struct PreparedCall {
    access: Vec<Access>,
    run: Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, ToolResult> + Send>,
}

impl PreparedCall {
    /// A call that would touch `access` and does `run`.
    #[must_use]
    pub fn new(
        access: Vec<Access>,
        run: impl FnOnce(ToolContext) -> BoxFuture<'static, ToolResult> + Send + 'static,
    ) -> Self {
        Self { access, run: Box::new(run) }
    }

    /// What the call would touch.
    #[must_use]
    pub fn access(&self) -> &[Access] {
        &self.access
    }

    /// Runs the call.
    #[must_use]
    pub fn run(self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        (self.run)(context)
    }
}

impl fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedCall").field("access", &self.access).finish_non_exhaustive()
    }
}

/// Arguments that cannot be used; the message tells the model where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArguments(String);

impl InvalidArguments {
    /// Arguments refused for the reason in `message`.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Arguments of `tool`, refused for the reason `why`.
    pub(crate) fn of(tool: &str, why: &dyn fmt::Display) -> Self {
        Self(format!("the arguments of {tool} cannot be used: {why}"))
    }
}

/// Erases the input type of a tool and fills in its schema.
#[must_use]
pub fn erase<T: Tool>(tool: T) -> Arc<dyn DynTool> {
    let spec = tool.describe().with_input_schema(input_schema::<T::Input>());
    Arc::new(Erased { spec: Arc::new(spec), tool: Arc::new(tool) })
}

struct Erased<T> {
    spec: Arc<ToolSpec>,
    tool: Arc<T>,
}

impl<T: Tool> DynTool for Erased<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        let unusable = |why: &dyn fmt::Display| InvalidArguments::of(&self.spec.name, why);
        // Only objects: a list would be read field by field, past every hook that looks for a name.
        let arguments = read_arguments(arguments).map_err(|error| unusable(&error))?;
        let input: T::Input = serde_json::from_str(&arguments).map_err(|error| unusable(&error))?;
        let access = self.tool.access(&input);
        let tool = Arc::clone(&self.tool);
        Ok(PreparedCall::new(access, move |context| Box::pin(tool.run(input, context))))
    }
}

/// The schema of `Input` as providers take it: inline, without `$schema`, `title` and `format`.
fn input_schema<Input: schemars::JsonSchema>() -> Value {
    let lean = RecursiveTransform(|schema: &mut schemars::Schema| {
        for key in ["$schema", "title", "format", "default"] {
            schema.remove(key);
        }
    });
    let mut settings = SchemaSettings::draft2020_12().with_transform(lean);
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Input>();
    schema.remove("description");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{ToolClass, ToolOutcome};

    /// Not for the model.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct EchoInput {
        /// What to say.
        some_text: String,
        /// How often; 1 when absent.
        times: Option<u32>,
    }

    struct Echo;

    impl Tool for Echo {
        type Input = EchoInput;

        fn describe(&self) -> ToolSpec {
            ToolSpec::new("Echo", ToolClass::Inspect, "Says it again.").read_only()
        }

        fn access(&self, _: &EchoInput) -> Vec<Access> {
            Vec::new()
        }

        async fn run(self: Arc<Self>, input: EchoInput, _: ToolContext) -> ToolResult {
            let times = input.times.unwrap_or(1) as usize;
            Ok(ToolOutcome::success(input.some_text.repeat(times)))
        }
    }

    #[test]
    fn the_schema_is_lean_and_keeps_the_order_of_the_fields() {
        let schema = erase(Echo).spec().input_schema.clone();
        let expected = json!({
            "type": "object",
            "properties": {
                "someText": {"description": "What to say.", "type": "string"},
                "times": {"description": "How often; 1 when absent.", "type": ["integer", "null"], "minimum": 0},
            },
            "required": ["someText"],
        });
        assert_eq!(schema, expected);
    }

    #[tokio::test]
    async fn arguments_are_read_once_and_run() {
        let call = erase(Echo).prepare(r#"{"someText":"ab","times":2}"#).unwrap();
        let context = ToolContext::new("c1", CancellationToken::new());
        assert_eq!(call.run(context).await.unwrap(), ToolOutcome::success("abab"));
    }

    #[test]
    fn malformed_arguments_tell_the_place() {
        let error = erase(Echo).prepare(r#"{"someText":"ab"#).unwrap_err().to_string();
        assert!(error.contains("Echo") && error.contains("line 1 column 15"), "{error}");
        let error = erase(Echo).prepare("").unwrap_err().to_string();
        assert!(error.contains("missing field `someText`"), "{error}");
    }

    #[test]
    fn arguments_without_names_are_refused() {
        let error = erase(Echo).prepare(r#" ["ab", 2]"#).unwrap_err().to_string();
        assert_eq!(error, "the arguments of Echo cannot be used: they are a list and must be an object");
        let error = erase(Echo).prepare(r#""ab""#).unwrap_err().to_string();
        assert_eq!(error, "the arguments of Echo cannot be used: they are a text and must be an object");
        assert!(erase(Echo).prepare(r#"{"someText": "ab",}"#).is_ok());
    }
}
