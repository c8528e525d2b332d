use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use robota_core::ToolContext;
use robota_tools::{Answer, Asked, Question, QuestionAsker};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::session::Session;

/// Answers what it was told to, or waits for ever.
struct User {
    answer: Option<Asked>,
    asked: Mutex<Vec<Question>>,
    /// Fires when a question is there.
    is_asked: CancellationToken,
}

impl User {
    fn session(answer: Option<Asked>) -> (Session, Arc<Self>) {
        let user = Arc::new(Self { answer, asked: Mutex::default(), is_asked: CancellationToken::new() });
        let asker = Arc::clone(&user);
        (Session::with(|options| options.asker = Some(asker)), user)
    }
}

impl QuestionAsker for User {
    fn ask<'a>(&'a self, questions: &'a [Question], _: &'a CancellationToken) -> BoxFuture<'a, Asked> {
        *self.asked.lock().unwrap() = questions.to_vec();
        self.is_asked.cancel();
        Box::pin(async {
            match &self.answer {
                Some(answer) => answer.clone(),
                None => std::future::pending().await,
            }
        })
    }
}

fn two_questions() -> Value {
    json!({"questions": [
        {"question": "Which database?", "header": "Database", "options": [
            {"label": "SQLite", "description": "One file"}, {"label": "PostgreSQL"}]},
        {"question": "Which clients?", "options": [{"label": "Web"}, {"label": "Phone"}, {"label": "Shell"}],
            "multiSelect": "true"},
    ]})
}

#[tokio::test]
async fn answers_go_to_the_model_and_to_programs() {
    let answers = vec![Answer::choosing(["SQLite"]), Answer::choosing(["Web", "Shell"])];
    let (session, user) = User::session(Some(Asked::Answered(answers)));
    let outcome = session.call("AskUserQuestion", two_questions()).await;
    let expected = "The user answered:\n- Which database?\n  SQLite\n- Which clients?\n  Web, Shell";
    assert_eq!((outcome.content.as_str(), outcome.is_error), (expected, false));
    let facts = outcome.structured.unwrap();
    assert_eq!(facts["answers"], json!({"Which database?": "SQLite", "Which clients?": "Web, Shell"}));
    let asked = user.asked.lock().unwrap().clone();
    assert_eq!(facts["questions"], serde_json::to_value(&asked).unwrap());
    assert!(!asked[0].multi_select && asked[1].multi_select && asked[0].header == "Database");
    assert_eq!(asked[0].options[0].description, "One file");

    let (session, _) = User::session(Some(Asked::Answered(vec![Answer::writing("whatever is there")])));
    let text = session.ok("AskUserQuestion", two_questions()).await;
    assert!(
        text.contains("?\n  whatever is there\n") && text.ends_with("Which clients?\n  (no answer)"),
        "{text}"
    );
}

#[tokio::test]
async fn without_a_user_the_model_decides() {
    let (away, _) = User::session(Some(Asked::Unavailable));
    for session in [Session::new(), away] {
        let outcome = session.call("AskUserQuestion", two_questions()).await;
        assert!(!outcome.is_error);
        assert_eq!(
            outcome.content,
            "nobody can answer now. Decide yourself, and state in your answer what you assumed"
        );
        assert_eq!(outcome.structured.unwrap(), json!({"unavailable": true}));
    }
    let (session, _) = User::session(Some(Asked::Declined));
    assert_eq!(session.refused("AskUserQuestion", two_questions()).await.0, "declined");
}

#[tokio::test]
async fn waiting_ends_when_the_turn_does() {
    let (session, user) = User::session(None);
    let questions = two_questions();
    let call =
        session.call_in("AskUserQuestion", &questions, ToolContext::new("call", session.cancel.clone()));
    let stop = async {
        user.is_asked.cancelled().await;
        session.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call, stop);
    assert_eq!(outcome.error_code, Some("cancelled"));
}

#[tokio::test]
async fn questions_that_make_no_sense_are_not_asked() {
    let (session, user) = User::session(Some(Asked::Declined));
    let option = |label: &str| json!({"label": label});
    let question = |text: &str, options: &[&str]| json!({"question": text, "options": options.iter().map(|label| option(label)).collect::<Vec<_>>()});
    let fine = question("A or B?", &["A", "B"]);
    for (questions, expected) in [
        (json!([]), "a call takes 1 to 4 questions; these are 0"),
        (json!([fine, fine]), "question 2 of 2 is asked twice"),
        (json!([question("A?", &["A"])]), "question 1 of 1 has 1 options; 2 to 4 are needed"),
        (json!([fine, question("A?", &["A", "A "])]), "question 2 of 2 has two options of the same name"),
        (json!([question(" ", &["A", "B"])]), "question 1 of 1 has an empty text or label"),
        (
            json!([question("A?", &["A", &"B".repeat(81)])]),
            "question 1 of 1 has a header or label of more than 80 characters",
        ),
    ] {
        let refused = session.refused("AskUserQuestion", json!({"questions": questions})).await;
        assert_eq!(refused, ("invalid_argument", expected.to_owned()));
    }
    assert_eq!(*user.asked.lock().unwrap(), []);
}
