//! An answer in the form of a schema: asked for, checked, sent back to be mended, and handed out.
//!
//! Where the provider keeps to a form by itself, every request of the turn asks for it. Elsewhere the model is told the
//! schema with the prompt. Either way the answer is checked here, and an answer that does not fit goes back with what is
//! wrong.

use std::sync::{Mutex, MutexGuard, PoisonError};

use robota_core::{
    Body, Error, ErrorKind, EventKind, MessageRef, MessageState, Provider, ResponseFormat, TurnEnd,
    system_reminder,
};
use serde_json::Value;

use super::Prompt;
use crate::OutputSchema;
use crate::output_schema::Misfit;

/// How often in one turn the model may mend its answer.
const MOST_REPAIRS: u32 = 3;

/// What a turn has to come to besides words.
pub(super) struct Structured {
    schema: OutputSchema,
    /// The provider itself keeps to the schema.
    native: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    repairs: u32,
    /// What the last answer came to; `None` before there was one.
    last: Option<Result<Value, Misfit>>,
}

/// What becomes of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Judgement {
    /// It is valid.
    Valid,
    /// The model is to mend it, and is told this.
    Repair(String),
    /// It has been mended often enough.
    GiveUp,
}

impl Structured {
    /// What `prompt` asks of `provider`; `None` where it is content with words.
    pub(super) fn of(prompt: &Prompt, provider: &dyn Provider) -> Option<Self> {
        let schema = prompt.output_schema.clone()?;
        let native = provider.info().capabilities.structured_output;
        Some(Self { schema, native, state: Mutex::default() })
    }

    /// What every request of the turn asks for.
    pub(super) fn response_format(&self) -> Option<ResponseFormat> {
        self.native.then(|| self.schema.response_format())
    }

    /// What the model is told with the prompt.
    pub(super) fn instruction(&self) -> Option<String> {
        (!self.native).then(|| {
            format!(
                "Your final answer to this prompt is read by a program. Do whatever the task takes first, with tools \
                 as you need them. Then answer with one JSON object that is valid against the JSON Schema below, and \
                 with nothing else: no words around it, no code fence.\n{}",
                self.schema.schema()
            )
        })
    }

    /// Judges the answer with which the model has finished. `told` says whether the model still sees what it was told
    /// with the prompt.
    pub(super) fn judge(&self, answer: &str, told: bool) -> Judgement {
        let read = self.schema.read(answer);
        let mut state = self.lock();
        let misfit = match &read {
            Ok(_) => None,
            Err(misfit) => Some(misfit.to_string()),
        };
        state.last = Some(read);
        let Some(misfit) = misfit else { return Judgement::Valid };
        if state.repairs >= MOST_REPAIRS {
            return Judgement::GiveUp;
        }
        state.repairs += 1;
        let mut text = format!(
            "Your answer cannot be used: {misfit}\nAnswer once more, with the whole corrected JSON object and nothing \
             else: no words around it, no code fence."
        );
        // Of a provider that has the form, a model may lack it all the same: then it has heard nothing of the schema.
        if self.native || !told {
            text.push_str(&format!(
                "\nIt has to be valid against this JSON Schema:\n{}",
                self.schema.schema()
            ));
        }
        Judgement::Repair(system_reminder(&[text]).unwrap_or_default())
    }

    /// What a turn that ended as `ended` has come to. A turn that was cut short in a way it tells itself (interrupted,
    /// out of rounds, ended by a hook) has no value.
    ///
    /// # Errors
    ///
    /// When the model has finished, and its answer is not valid.
    pub(super) fn conclude(&self, ended: TurnEnd) -> Result<Option<Value>, Error> {
        let mut state = self.lock();
        match (ended, state.last.take()) {
            (TurnEnd::Completed, Some(Ok(value))) => Ok(Some(value)),
            (TurnEnd::Completed, Some(Err(misfit))) => {
                let why = format!("after {} repairs it still cannot be used: {misfit}", state.repairs);
                Err(failed(&why).with_hint(HINT))
            }
            (TurnEnd::Completed, None) => Err(failed("the model gave up on the task, and only said so")),
            (TurnEnd::OutputLimit, _) => Err(failed("the answer reached the output limit and is cut")
                .with_hint("Ask for less at once, or allow more output tokens.")),
            (TurnEnd::Refused, _) => Err(failed("the model declined to answer")),
            _ => Ok(None),
        }
    }

    /// The event that tells the value of the turn.
    pub(super) fn event(&self, value: &Value) -> EventKind {
        EventKind::StructuredOutput {
            value: value.clone(),
            native: self.native,
            repairs: self.lock().repairs,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const HINT: &str =
    "Simplify the schema, say in the prompt what its fields mean, or take a more capable model.";

fn failed(why: &str) -> Error {
    Error::new(ErrorKind::StructuredOutput, format!("there is no answer in the form of the schema: {why}"))
}

/// The text of the answer that `messages` end with; empty when they end otherwise.
pub(super) fn answer_of(messages: &[MessageRef]) -> &str {
    match messages.last() {
        Some(message) if message.state == MessageState::Complete => match &message.body {
            Body::Assistant { content, .. } => content.as_deref().unwrap_or_default(),
            _ => "",
        },
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn structured(native: bool) -> Structured {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        Structured { schema: OutputSchema::new(schema).unwrap(), native, state: Mutex::default() }
    }

    #[test]
    fn an_answer_may_be_mended_three_times() {
        let one = structured(false);
        let Judgement::Repair(first) = one.judge("n is 5", true) else { panic!() };
        assert!(first.contains("cannot be used: there is no JSON object in it"), "{first}");
        let Judgement::Repair(second) = one.judge("{\"n\": \"5\"}", false) else { panic!() };
        assert!(second.contains("- /n: \"5\" is not of type \"integer\""), "{second}");
        assert!(
            second.contains("JSON Schema:\n{\"type\":\"object\""),
            "what is gone is told again: {second}"
        );
        assert!(matches!(one.judge("", true), Judgement::Repair(_)));
        assert_eq!(one.judge("{}", true), Judgement::GiveUp);
        let error = one.conclude(TurnEnd::Completed).unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::StructuredOutput, "STRUCTURED_OUTPUT_ERROR"));
        assert_eq!(
            error.to_string(),
            "there is no answer in the form of the schema: after 3 repairs it still cannot be used: it is not valid \
             against the schema:\n\
             - the whole: \"n\" is a required property"
        );
    }

    #[test]
    fn only_a_turn_that_completed_has_a_value() {
        let judged = || {
            let one = structured(true);
            assert_eq!(one.judge("{\"n\": 5}", true), Judgement::Valid);
            one
        };
        assert_eq!(judged().conclude(TurnEnd::Completed).unwrap(), Some(json!({"n": 5})));
        for ended in [TurnEnd::Interrupted, TurnEnd::MaxRounds, TurnEnd::ContextFull, TurnEnd::Stopped] {
            assert_eq!(judged().conclude(ended).unwrap(), None);
        }
        for ended in [TurnEnd::OutputLimit, TurnEnd::Refused] {
            assert!(judged().conclude(ended).is_err());
        }
        assert!(structured(true).conclude(TurnEnd::Completed).is_err());
    }

    #[test]
    fn a_model_that_lacks_the_form_of_its_provider_hears_of_the_schema() {
        let one = structured(true);
        assert_eq!(one.instruction(), None);
        let Judgement::Repair(first) = one.judge("n is 5", true) else { panic!() };
        assert!(first.contains("JSON Schema:\n{\"type\":\"object\""), "{first}");
    }

    #[test]
    fn the_model_is_told_the_schema_where_the_provider_does_not_keep_to_it() {
        assert!(structured(false).instruction().unwrap().ends_with("\"required\":[\"n\"]}"));
        assert_eq!(structured(false).response_format(), None);
        assert_eq!(structured(true).instruction(), None);
        assert!(structured(true).response_format().is_some());
    }
}
