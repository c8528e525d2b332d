//! How much the model thinks and in what form it answers, in the fields each kind of server has for it.

use robota_core::{Effort, ModelRequest, ResponseFormat, Thinking, ToolChoice};
use serde_json::{Map, Value, json};

use super::dialect::{Departure, Departures};
use super::quirks::{AnswerForm, Quirks, ThinkingSwitch, ToolChoices};

/// Fields of a body, and what could only be said in words.
#[derive(Default)]
pub(super) struct Tuning {
    pub(super) fields: Map<String, Value>,
    /// Sentences for the end of the conversation.
    pub(super) hints: Vec<String>,
}

impl Tuning {
    /// Sets effort and thinking.
    pub(super) fn think(
        &mut self,
        quirks: &Quirks,
        departures: Departures,
        thinking: Thinking,
        effort: Option<Effort>,
    ) {
        if departures.has(Departure::NoThinking) {
            return;
        }
        let off = thinking == Thinking::Disabled;
        let highest = if departures.has(Departure::HighEffort) { Effort::High } else { Effort::Max };
        let effort = effort.filter(|_| !off).map(|effort| effort.min(highest));
        match quirks.thinking {
            ThinkingSwitch::None => {}
            ThinkingSwitch::Type { on, adaptive, off } => {
                let word = match thinking {
                    Thinking::Disabled => Some(off),
                    Thinking::Adaptive => Some(adaptive),
                    Thinking::Budget(_) => Some(on),
                    _ => None,
                };
                self.set("thinking", word.map(|word| json!({"type": word})));
            }
            ThinkingSwitch::Enable => {
                let enabled = (thinking != Thinking::Default).then_some(!off);
                self.set("enable_thinking", enabled);
                self.set("thinking_budget", budget(thinking));
            }
            ThinkingSwitch::Reasoning => self.set("reasoning", reasoning(thinking, effort)),
            ThinkingSwitch::Template => {
                let mut arguments = Map::new();
                if thinking != Thinking::Default {
                    arguments.insert("enable_thinking".to_owned(), (!off).into());
                }
                if let (Some(effort), None) = (effort, quirks.effort) {
                    arguments.insert("reasoning_effort".to_owned(), word(effort, TEMPLATE_WORDS).into());
                }
                self.set("chat_template_kwargs", (!arguments.is_empty()).then_some(arguments));
            }
        }
        if let Some(efforts) = quirks.effort {
            let off = efforts.off.filter(|_| off);
            let asked = effort.map(|effort| word(effort, efforts.words));
            self.set("reasoning_effort", asked.or(off));
        }
    }

    /// Sets the form of the answer.
    pub(super) fn answer_as(&mut self, quirks: &Quirks, departures: Departures, format: &ResponseFormat) {
        let form = match quirks.answer_form {
            _ if departures.has(Departure::NoAnswerForm) => AnswerForm::Words,
            AnswerForm::Schema if departures.has(Departure::NoSchema) => AnswerForm::Object,
            form => form,
        };
        let field = match form {
            AnswerForm::Schema => {
                let mut schema = json!({"name": format.name, "schema": *format.schema});
                if is_closed(&format.schema) {
                    schema["strict"] = true.into();
                }
                Some(json!({"type": "json_schema", "json_schema": schema}))
            }
            AnswerForm::Object => Some(json!({"type": "json_object"})),
            AnswerForm::Words => None,
        };
        self.set("response_format", field);
        if form != AnswerForm::Schema {
            self.hints.push(format!(
                "Answer with one JSON value and nothing else. It has to follow this JSON Schema: {}",
                format.schema
            ));
        }
    }

    /// Sets which tools may be called: what the server takes, and words for the rest.
    pub(super) fn choose(&mut self, quirks: &Quirks, departures: Departures, request: &ModelRequest) {
        use ToolChoices as Takes;
        let takes = if departures.has(Departure::NoToolChoice) { Takes::Auto } else { quirks.tool_choice };
        let (field, hint) = match &request.tool_choice {
            ToolChoice::None if takes == Takes::Auto => {
                (None, Some("Answer in text now, without calling any tool.".to_owned()))
            }
            ToolChoice::None => (Some(json!("none")), None),
            ToolChoice::Required if matches!(takes, Takes::All | Takes::Words) => {
                (Some(json!("required")), None)
            }
            ToolChoice::Required => (None, Some("Call one of the tools now.".to_owned())),
            ToolChoice::Tool(name) if matches!(takes, Takes::All | Takes::Named) => {
                (Some(json!({"type": "function", "function": {"name": name}})), None)
            }
            ToolChoice::Tool(name) => {
                let field = (takes == Takes::Words).then(|| json!("required"));
                (field, Some(format!("Call the tool {name} now.")))
            }
            // What the API does unasked.
            _ => (None, None),
        };
        self.set("tool_choice", field);
        self.hints.extend(hint);
    }

    fn set(&mut self, field: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.fields.insert(field.to_owned(), value.into());
        }
    }
}

/// The words that templates know.
const TEMPLATE_WORDS: [&str; 5] = ["low", "medium", "high", "high", "high"];

fn word(effort: Effort, words: [&'static str; 5]) -> &'static str {
    let [low, medium, high, xhigh, max] = words;
    match effort {
        Effort::Low => low,
        Effort::Medium => medium,
        Effort::High => high,
        Effort::XHigh => xhigh,
        Effort::Max => max,
    }
}

fn budget(thinking: Thinking) -> Option<u32> {
    match thinking {
        Thinking::Budget(tokens) => Some(tokens),
        _ => None,
    }
}

/// `reasoning` takes one of effort, budget and a switch.
fn reasoning(thinking: Thinking, effort: Option<Effort>) -> Option<Value> {
    const WORDS: [&str; 5] = ["low", "medium", "high", "xhigh", "xhigh"];
    match (thinking, effort) {
        (Thinking::Disabled, _) => Some(json!({"enabled": false})),
        (Thinking::Budget(tokens), _) => Some(json!({"max_tokens": tokens})),
        (_, Some(effort)) => Some(json!({"effort": word(effort, WORDS)})),
        (Thinking::Adaptive, None) => Some(json!({"enabled": true})),
        _ => None,
    }
}

/// Whether servers can keep strictly to `schema`: every object in it lists all its fields as required, and allows no
/// others.
fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            let is_object =
                fields.get("type").and_then(Value::as_str) == Some("object") || properties.is_some();
            let required = fields.get("required").and_then(Value::as_array);
            let names =
                |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
            let closed = fields.get("additionalProperties") == Some(&Value::Bool(false))
                && properties.is_none_or(|properties| properties.keys().all(names));
            (!is_object || closed) && fields.values().all(is_closed)
        }
        Value::Array(items) => items.iter().all(is_closed),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::ProviderKind as Kind;

    fn thinking(kind: Kind, thinking: Thinking, effort: Option<Effort>) -> Value {
        let mut tuning = Tuning::default();
        tuning.think(Quirks::of(kind), Departures::default(), thinking, effort);
        Value::Object(tuning.fields)
    }

    #[test]
    fn thinking_is_switched_in_the_fields_of_each_kind() {
        let budget = Thinking::Budget(4000);
        for (kind, off, adaptive, with_budget) in [
            (Kind::OpenAi, json!({"reasoning_effort": "none"}), json!({}), json!({})),
            (
                Kind::DeepSeek,
                json!({"thinking": {"type": "disabled"}}),
                json!({"thinking": {"type": "enabled"}}),
                json!({"thinking": {"type": "enabled"}}),
            ),
            (
                Kind::Qwen,
                json!({"enable_thinking": false}),
                json!({"enable_thinking": true}),
                json!({"enable_thinking": true, "thinking_budget": 4000}),
            ),
            (
                Kind::ByteDance,
                json!({"thinking": {"type": "disabled"}}),
                json!({"thinking": {"type": "auto"}}),
                json!({"thinking": {"type": "enabled"}}),
            ),
            (
                Kind::OpenRouter,
                json!({"reasoning": {"enabled": false}}),
                json!({"reasoning": {"enabled": true}}),
                json!({"reasoning": {"max_tokens": 4000}}),
            ),
            (
                Kind::LlamaCpp,
                json!({"chat_template_kwargs": {"enable_thinking": false}}),
                json!({"chat_template_kwargs": {"enable_thinking": true}}),
                json!({"chat_template_kwargs": {"enable_thinking": true}}),
            ),
            (Kind::LmStudio, json!({}), json!({}), json!({})),
        ] {
            assert_eq!(thinking(kind, Thinking::Disabled, Some(Effort::High)), off, "{kind}");
            assert_eq!(thinking(kind, Thinking::Adaptive, None), adaptive, "{kind}");
            assert_eq!(thinking(kind, budget, None), with_budget, "{kind}");
            assert_eq!(thinking(kind, Thinking::Default, None), json!({}), "{kind}");
        }
    }

    #[test]
    fn effort_is_the_nearest_word_of_each_kind() {
        for (kind, expected) in [
            (Kind::OpenAi, json!({"reasoning_effort": "xhigh"})),
            (Kind::DeepSeek, json!({"reasoning_effort": "max"})),
            (Kind::Groq, json!({"reasoning_effort": "high"})),
            (Kind::OpenRouter, json!({"reasoning": {"effort": "xhigh"}})),
            (Kind::LlamaCpp, json!({"chat_template_kwargs": {"reasoning_effort": "high"}})),
            (Kind::Moonshot, json!({})),
        ] {
            assert_eq!(thinking(kind, Thinking::Default, Some(Effort::Max)), expected, "{kind}");
        }
    }

    #[test]
    fn a_tool_is_chosen_in_words_where_there_is_no_field() {
        let chosen = |kind, choice| {
            let mut request = ModelRequest::new("m", Vec::new());
            request.tool_choice = choice;
            let mut tuning = Tuning::default();
            tuning.choose(Quirks::of(kind), Departures::default(), &request);
            (Value::Object(tuning.fields), tuning.hints)
        };
        let named = ToolChoice::Tool("Read".into());
        let words = vec!["Call the tool Read now.".to_owned()];
        let by_name = json!({"tool_choice": {"type": "function", "function": {"name": "Read"}}});
        assert_eq!(chosen(Kind::OpenAi, named.clone()), (by_name, Vec::new()));
        assert_eq!(
            chosen(Kind::LmStudio, named.clone()),
            (json!({"tool_choice": "required"}), words.clone())
        );
        assert_eq!(chosen(Kind::MiniMax, named), (json!({}), words));
        let call = vec!["Call one of the tools now.".to_owned()];
        assert_eq!(chosen(Kind::Moonshot, ToolChoice::Required), (json!({}), call));
        assert_eq!(chosen(Kind::Moonshot, ToolChoice::None), (json!({"tool_choice": "none"}), Vec::new()));
    }

    #[test]
    fn a_schema_is_strict_only_when_it_is_closed() {
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        assert!(is_closed(&closed) && !is_closed(&open));
        assert!(!is_closed(&json!({"type": "array", "items": open})));
        let mut tuning = Tuning::default();
        let format = ResponseFormat::new("form", closed.clone());
        tuning.answer_as(Quirks::of(Kind::OpenAi), Departures::default(), &format);
        let expected = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "form", "schema": closed, "strict": true}}});
        assert_eq!(Value::Object(tuning.fields), expected);
        let mut tuning = Tuning::default();
        tuning.answer_as(Quirks::of(Kind::DeepSeek), Departures::default(), &format);
        assert_eq!(Value::Object(tuning.fields), json!({"response_format": {"type": "json_object"}}));
        assert!(tuning.hints[0].ends_with(&closed.to_string()));
    }
}
