//! The schema of an answer: what a program can ask a model's last word to be valid against.

mod reading;

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use robota_core::ResponseFormat;
use serde_json::Value;

/// Most mistakes of an answer that are told.
const MOST_MISTAKES: usize = 10;

/// Most characters of the reason of one mistake, which may quote the answer.
const MISTAKE_CHARS: usize = 300;

/// What the form is called where an API wants a name for it.
const NAME: &str = "structured_output";

/// A JSON Schema for the answer of a turn: checked and compiled once, then shared by its clones.
///
/// Drafts 4 to 2020-12, as `$schema` says; 2020-12 without it. The root is about an object, because that is what all
/// model APIs and tools take. References stay within the schema: nothing is ever fetched.
#[derive(Clone)]
pub struct OutputSchema {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

/// A value that is no schema for an answer.
#[derive(Debug, thiserror::Error)]
#[error("the output schema cannot be used: {reason}{}", at(place))]
pub struct InvalidSchema {
    reason: String,
    place: String,
}

/// Why an answer is not what the schema asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// There is no JSON in it.
    NoJson(String),
    /// It breaks the schema in these places: at most ten, and how many there are beyond.
    Invalid(Vec<String>, usize),
}

impl OutputSchema {
    /// The schema that `schema` is.
    ///
    /// # Errors
    ///
    /// When it is no JSON Schema, is not about an object, or refers to something outside of itself. The error names the
    /// place.
    pub fn new(schema: Value) -> Result<Self, InvalidSchema> {
        let Value::Object(fields) = &schema else {
            return Err(invalid("a schema is a JSON object", ""));
        };
        jsonschema::meta::validate(&schema)
            .map_err(|error| invalid(shortened(&error.to_string()), error.instance_path().as_str()))?;
        if fields.get("type").and_then(Value::as_str) != Some("object") {
            return Err(invalid("its root has to say `\"type\": \"object\"`", "/type"));
        }
        let validator = jsonschema::options().offline().build(&schema).map_err(|error| {
            let (place, target) = reading::reference_outside(&schema).unwrap_or_default();
            match target.is_empty() {
                true => invalid(shortened(&error.to_string()), error.schema_path().as_str()),
                false => invalid(format!("it refers to `{target}`, and nothing is fetched"), &place),
            }
        })?;
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator) })
    }

    /// The schema as it was given.
    #[must_use]
    pub fn schema(&self) -> &Arc<Value> {
        &self.schema
    }

    /// What `value` breaks of the schema, a sentence with the place for each of the first ten; empty for a valid one.
    #[must_use]
    pub fn mistakes(&self, value: &Value) -> Vec<String> {
        self.validator.iter_errors(value).take(MOST_MISTAKES).map(|error| mistake(&error)).collect()
    }

    /// The same as requests carry it.
    pub(crate) fn response_format(&self) -> ResponseFormat {
        ResponseFormat::new(NAME, Arc::clone(&self.schema))
    }

    /// The valid value that the answer `text` is.
    pub(crate) fn read(&self, text: &str) -> Result<Value, Misfit> {
        let value = reading::json_of(text).map_err(Misfit::NoJson)?;
        let mistakes = self.mistakes(&value);
        if mistakes.is_empty() {
            return Ok(value);
        }
        let more = match mistakes.len() < MOST_MISTAKES {
            true => 0,
            false => self.validator.iter_errors(&value).skip(MOST_MISTAKES).count(),
        };
        Err(Misfit::Invalid(mistakes, more))
    }
}

impl PartialEq for OutputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutputSchema").field(&self.schema).finish()
    }
}

impl InvalidSchema {
    /// Where in the schema, as a JSON pointer; empty for its root.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoJson(reason) => f.write_str(reason),
            Self::Invalid(mistakes, more) => {
                f.write_str("it is not valid against the schema:")?;
                mistakes.iter().try_for_each(|mistake| write!(f, "\n- {mistake}"))?;
                if *more > 0 { write!(f, "\n- and {more} more") } else { Ok(()) }
            }
        }
    }
}

fn invalid(reason: impl Into<String>, place: &str) -> InvalidSchema {
    InvalidSchema { reason: reason.into(), place: place.to_owned() }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" (at `{place}`)") }
}

fn mistake(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let place = if place.is_empty() { "the whole" } else { place };
    format!("{place}: {}", shortened(&error.to_string()))
}

/// `text` on one line, without its end where it is too long.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MISTAKE_CHARS) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> OutputSchema {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}},
            "required": ["name"],
            "additionalProperties": false,
            "$defs": {"tag": {"type": "string", "maxLength": 3}},
        });
        OutputSchema::new(schema).unwrap()
    }

    #[test]
    fn an_answer_is_its_json_bare_fenced_or_between_words() {
        let bolt = json!({"name": "bolt"});
        for text in [
            "{\"name\": \"bolt\"}",
            "\n  {\"name\": \"bolt\"}\n",
            "```json\n{\"name\": \"bolt\"}\n```",
            "Here it is:\n\n```\n{\"name\": \"bolt\"}\n```\nDone.",
            "The answer is {\"name\": \"bolt\"} as asked.",
        ] {
            assert_eq!(schema().read(text), Ok(bolt.clone()), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = |text: &str| schema().read(text).unwrap_err().to_string();
        assert_eq!(told("I cannot say."), "there is no JSON object in it");
        assert_eq!(told(" "), "it is empty");
        let cut = told("{\"name\": \"bo");
        assert!(cut.starts_with("it is no JSON: EOF while parsing a string"), "{cut}");
        assert_eq!(
            told("{\"tags\": [\"ok\", \"long\", 5], \"size\": 1}"),
            "it is not valid against the schema:\n\
             - /tags/1: \"long\" is longer than 3 characters\n\
             - /tags/2: 5 is not of type \"string\"\n\
             - the whole: Additional properties are not allowed ('size' was unexpected)\n\
             - the whole: \"name\" is a required property"
        );
        let many = json!({"name": "n", "tags": (0..30).collect::<Vec<_>>()}).to_string();
        let told = told(&many);
        assert!(told.ends_with("\n- /tags/9: 9 is not of type \"string\"\n- and 20 more"), "{told}");
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_refused_with_the_place() {
        let refused = |schema: Value| OutputSchema::new(schema).unwrap_err().to_string();
        assert_eq!(refused(json!([])), "the output schema cannot be used: a schema is a JSON object");
        assert_eq!(
            refused(json!({"type": "array"})),
            "the output schema cannot be used: its root has to say `\"type\": \"object\"` (at `/type`)"
        );
        let nonsense = refused(json!({"type": "object", "properties": {"a": {"type": "strin"}}}));
        assert!(nonsense.contains("strin") && nonsense.ends_with("(at `/properties/a/type`)"), "{nonsense}");
        let remote = json!({"type": "object", "properties": {"a/b": {"$ref": "https://example.com/s.json"}}});
        assert_eq!(
            refused(remote),
            "the output schema cannot be used: it refers to `https://example.com/s.json`, and nothing is fetched \
             (at `/properties/a~1b/$ref`)"
        );
        let file = json!({"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]});
        assert!(refused(file).ends_with("nothing is fetched (at `/allOf/0/$ref`)"));
        let nowhere = refused(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}));
        assert!(nowhere.contains("/$defs/none"), "{nowhere}");
        let pattern = refused(json!({"type": "object", "properties": {"a": {"pattern": "("}}}));
        assert!(pattern.contains("/properties/a/pattern"), "{pattern}");
    }

    #[test]
    fn references_within_the_schema_may_go_in_circles() {
        let tree = json!({
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
            "additionalProperties": false,
        });
        let tree = OutputSchema::new(tree).unwrap();
        assert!(tree.mistakes(&json!({"children": [{"children": []}]})).is_empty());
        assert_eq!(tree.mistakes(&json!({"children": [{"kids": []}]})).len(), 1);
        let endless = json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
        });
        assert!(OutputSchema::new(endless).unwrap().mistakes(&json!({"x": 1})).is_empty());
    }

    #[test]
    fn older_drafts_are_understood() {
        let draft_7 = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "definitions": {"id": {"type": "integer", "exclusiveMinimum": 0}},
            "properties": {"id": {"$ref": "#/definitions/id"}},
        });
        let schema = OutputSchema::new(draft_7).unwrap();
        assert_eq!(schema.mistakes(&json!({"id": 0})).len(), 1);
        let unknown = json!({"$schema": "https://example.com/dialect", "type": "object"});
        assert!(OutputSchema::new(unknown).is_err());
    }
}
