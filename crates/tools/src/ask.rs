//! AskUserQuestion: a choice that is the user's, put to them as questions with options.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use robota_core::{Access, Tool, ToolClass, ToolContext, ToolOutcome, ToolResult, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::input::{Named, Switch};

const MAX_QUESTIONS: usize = 4;
const MIN_OPTIONS: usize = 2;
const MAX_OPTIONS: usize = 4;
/// The longest question or description, in characters.
const MAX_TEXT: usize = 1_000;
/// The longest header or label, in characters.
const MAX_LABEL: usize = 80;

/// Puts questions to the user of a session.
pub trait QuestionAsker: Send + Sync {
    /// Asks all `questions` (1 to 4), and waits for the answers without a limit of time.
    ///
    /// When `cancel` fires, nobody waits for the answer any more: what is shown to the user should go away. The
    /// future may be dropped at any time.
    fn ask<'a>(&'a self, questions: &'a [Question], cancel: &'a CancellationToken) -> BoxFuture<'a, Asked>;
}

/// A question with the answers that the model proposes. The user may always answer in words of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Question {
    /// The whole question; no two of a call are the same.
    pub question: String,
    /// A word or two for a tab or chip; may be empty.
    pub header: String,
    /// Two to four; no two have the same label.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
}

/// A proposed answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct QuestionOption {
    /// What is chosen.
    pub label: String,
    /// What it would mean; may be empty.
    pub description: String,
}

/// What became of the questions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asked {
    /// The user answered; one answer for each question, in their order.
    Answered(Vec<Answer>),
    /// The user does not want to answer.
    Declined,
    /// There is nobody who could answer now.
    Unavailable,
}

/// The answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The labels that were chosen.
    pub chosen: Vec<String>,
    /// What the user wrote instead of or beside them.
    pub text: Option<String>,
}

impl Answer {
    /// An answer by labels.
    #[must_use]
    pub fn choosing(labels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { chosen: labels.into_iter().map(Into::into).collect(), text: None }
    }

    /// An answer in the user's own words.
    #[must_use]
    pub fn writing(text: impl Into<String>) -> Self {
        Self { chosen: Vec::new(), text: Some(text.into()) }
    }

    fn in_one_line(&self) -> String {
        let parts = self.chosen.iter().chain(&self.text).map(String::as_str);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) struct AskUserQuestion {
    pub(crate) asker: Option<Arc<dyn QuestionAsker>>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AskInput {
    #[schemars(with = "Vec<AskedQuestion>")]
    questions: Vec<Named<AskedQuestion>>,
}

// The question as models write it; doc comments are paid for in every request.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AskedQuestion {
    question: String,
    /// At most 12 characters.
    #[serde(default)]
    header: String,
    #[schemars(with = "Vec<AskedOption>")]
    options: Vec<Named<AskedOption>>,
    #[serde(default, alias = "multi_select", alias = "multiple")]
    multi_select: Switch,
}

#[derive(Deserialize, JsonSchema)]
struct AskedOption {
    label: String,
    #[serde(default)]
    description: String,
}

impl Tool for AskUserQuestion {
    type Input = AskInput;

    fn describe(&self) -> ToolSpec {
        ToolSpec::new(
            "AskUserQuestion",
            // It reaches nothing: even a mode that only looks may ask.
            ToolClass::Inspect,
            "Asks the user for decisions that are theirs: 1 to 4 questions with 2 to 4 options each. They can always \
             answer in their own words, so give no \"Other\" option.",
        )
    }

    fn access(&self, _: &AskInput) -> Vec<Access> {
        Vec::new()
    }

    async fn run(self: Arc<Self>, input: AskInput, context: ToolContext) -> ToolResult {
        let questions = match checked(input) {
            Ok(questions) => questions,
            Err(failure) => return Ok(failure.into()),
        };
        let asked = match &self.asker {
            None => Asked::Unavailable,
            Some(asker) => tokio::select! {
                biased;
                () = context.cancel.cancelled() => return Ok(Failure::cancelled().into()),
                asked = asker.ask(&questions, &context.cancel) => asked,
            },
        };
        Ok(outcome(&questions, asked))
    }
}

fn checked(input: AskInput) -> Result<Vec<Question>, Failure> {
    let refused = |message: String| Failure::new("invalid_argument", message);
    let count = input.questions.len();
    if !(1..=MAX_QUESTIONS).contains(&count) {
        return Err(refused(format!("a call takes 1 to {MAX_QUESTIONS} questions; these are {count}")));
    }
    let mut asked = HashSet::new();
    let questions = input.questions.into_iter().enumerate().map(|(at, Named(question))| {
        let question = Question::from(question);
        let fault = fault_of(&question)
            .or_else(|| (!asked.insert(question.question.clone())).then(|| "is asked twice".to_owned()));
        match fault {
            Some(fault) => Err(refused(format!("question {} of {count} {fault}", at + 1))),
            None => Ok(question),
        }
    });
    questions.collect()
}

impl From<AskedQuestion> for Question {
    fn from(asked: AskedQuestion) -> Self {
        let AskedQuestion { question, header, options, multi_select } = asked;
        let options = options
            .into_iter()
            .map(|Named(AskedOption { label, description })| QuestionOption { label, description });
        Self { question, header, options: options.collect(), multi_select: multi_select.0 }
    }
}

fn fault_of(question: &Question) -> Option<String> {
    let count = question.options.len();
    let labels: HashSet<&str> = question.options.iter().map(|option| option.label.trim()).collect();
    let is_long = |text: &str, most: usize| text.chars().nth(most).is_some();
    let texts = question.options.iter().map(|option| &option.description).chain([&question.question]);
    let short = question.options.iter().map(|option| &option.label).chain([&question.header]);
    if question.question.trim().is_empty() || labels.contains("") {
        Some("has an empty text or label".to_owned())
    } else if !(MIN_OPTIONS..=MAX_OPTIONS).contains(&count) {
        Some(format!("has {count} options; {MIN_OPTIONS} to {MAX_OPTIONS} are needed"))
    } else if labels.len() < count {
        Some("has two options of the same name".to_owned())
    } else if short.into_iter().any(|text| is_long(text, MAX_LABEL)) {
        Some(format!("has a header or label of more than {MAX_LABEL} characters"))
    } else if texts.into_iter().any(|text| is_long(text, MAX_TEXT)) {
        Some(format!("has a text of more than {MAX_TEXT} characters"))
    } else {
        None
    }
}

fn outcome(questions: &[Question], asked: Asked) -> ToolOutcome {
    match asked {
        Asked::Answered(answers) => answered(questions, &answers),
        Asked::Declined => {
            let text = "the user did not answer; go on without it, or ask in words what they want";
            ToolOutcome::failure(text).with_error_code("declined")
        }
        Asked::Unavailable => {
            let text = "nobody can answer now. Decide yourself, and state in your answer what you assumed";
            ToolOutcome::success(text).with_structured(json!({"unavailable": true}))
        }
    }
}

fn answered(questions: &[Question], answers: &[Answer]) -> ToolOutcome {
    let mut text = "The user answered:".to_owned();
    let mut by_question = Map::new();
    for (number, question) in questions.iter().enumerate() {
        let answer = answers.get(number).map(Answer::in_one_line).unwrap_or_default();
        let shown = if answer.is_empty() { "(no answer)" } else { &answer };
        text.push_str(&format!("\n- {}\n  {shown}", question.question));
        by_question.insert(question.question.clone(), Value::String(answer));
    }
    ToolOutcome::success(text).with_structured(json!({"questions": questions, "answers": by_question}))
}
