use robota_tools::{Todo, TodoList, TodoStatus};
use serde_json::json;

use crate::session::Session;

#[tokio::test]
async fn the_list_is_replaced_and_can_be_read() {
    let list = TodoList::default();
    let session = Session::with(|options| options.todos = list.clone());
    let todos = json!([
        {"content": "Look", "status": "completed"},
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Test", "status": "pending", "activeForm": ""},
    ]);
    let outcome = session.call("TodoWrite", json!({"todos": todos})).await;
    assert_eq!(outcome.content, "3 todos: 1 completed, 1 in progress, 1 pending");
    let told = json!([
        {"content": "Look", "status": "completed"},
        {"content": "Build", "status": "in_progress", "activeForm": "Building"},
        {"content": "Test", "status": "pending"},
    ]);
    let facts = json!({"todos": told, "pending": 1, "inProgress": 1, "completed": 1});
    assert_eq!(outcome.structured.unwrap(), facts);
    assert_eq!(serde_json::to_value(&*list.todos()).unwrap(), told);

    let plan = json!({"plan": [{"step": "Ship", "status": "done"}, {"step": "a", "status": "active"},
        {"step": "b", "status": "in-progress"}], "explanation": "why"});
    let text = session.ok("TodoWrite", plan).await;
    assert_eq!(text, "3 todos: 1 completed, 2 in progress, 0 pending; work on one at a time");
    assert_eq!(list.todos()[0], Todo::new("Ship", TodoStatus::Completed));
    assert_eq!(
        session.ok("TodoWrite", json!({"todos": []})).await,
        "0 todos: 0 completed, 0 in progress, 0 pending"
    );
}

#[tokio::test]
async fn a_list_that_makes_no_sense_changes_nothing() {
    let list = TodoList::default();
    list.set([Todo::new("Kept", TodoStatus::Pending)]);
    let session = Session::with(|options| options.todos = list.clone());
    let todo = |content: &str| json!({"content": content, "status": "pending"});
    for (todos, expected) in [
        (vec![todo("ok"), todo(" ")], "todo 2 of 2 says nothing"),
        (vec![todo(&"x".repeat(501))], "todo 1 of 1 is longer than 500 characters"),
        (vec![todo("x"); 101], "at most 100 todos fit in the list; these are 101"),
    ] {
        let refused = session.refused("TodoWrite", json!({"todos": todos})).await;
        assert_eq!(refused, ("invalid_argument", expected.to_owned()));
    }
    let unknown = json!({"todos": [{"content": "x", "status": "perhaps"}]}).to_string();
    let refused = session.tool("TodoWrite").prepare(&unknown).unwrap_err().to_string();
    assert!(
        refused.contains("`perhaps` is no status; there are pending, in_progress and completed"),
        "{refused}"
    );
    assert!(session.tool("TodoWrite").prepare(r#"{"todos": [["x", "pending"]]}"#).is_err());
    assert_eq!(*list.todos(), [Todo::new("Kept", TodoStatus::Pending)]);
}
