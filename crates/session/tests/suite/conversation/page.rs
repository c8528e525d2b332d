//! The example and the table of `docs/conversation.md` are held against the contract and the tests.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use robota_session::{Conversation, ConversationEntry, ConversationOptions, Error, FileStore, Speaker};
use robota_testkit::TempWorkspace;

use super::NOW;

const DOCUMENT: &str = include_str!("../../../../../docs/conversation.md");
const SCENARIO: &str = include_str!("scenario.rs");
const TESTS: [(&str, &str); 6] = [
    ("errors", include_str!("errors.rs")),
    ("export", include_str!("export.rs")),
    ("history", include_str!("history.rs")),
    ("lifecycle", include_str!("lifecycle.rs")),
    ("metadata", include_str!("metadata.rs")),
    ("tokens", include_str!("tokens.rs")),
];
const TURNS: (&str, &str) = ("turns", include_str!("turns.rs"));

/// Every item of the contract.
const CONTRACT: &str = "constructor addToHistory getConversationHistory getHistoryEntry getLastMessage \
    getMessagesByType clearHistory compact startTurn endTurn isActiveTurn addTokenUsage addApprovedCommand \
    isCommandApproved export import getMetadata getSessionId isEmpty addError requestInterrupt \
    isInterruptRequested clearInterrupt trackToolUsage initialize initializeSession reset close shutdown";

fn snake(name: &str) -> String {
    let letter = |letter: char| match letter {
        'A'..='Z' => format!("_{}", letter.to_ascii_lowercase()),
        _ => letter.to_string(),
    };
    name.chars().map(letter).collect()
}

/// The texts in backticks of each row of the table.
fn rows() -> Vec<Vec<&'static str>> {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').skip(1).step_by(2).collect())
        .filter(|row: &Vec<_>| row.len() >= 4)
        .collect()
}

fn assert_is_test(item: &str, test: &str) {
    let (module, name) = test.split_once("::").unwrap_or_else(|| panic!("`{test}` names no module"));
    let all = TESTS.iter().chain([&TURNS]);
    let source = all.filter(|(file, _)| *file == module).map(|(_, source)| *source).next();
    let is_there = source.is_some_and(|source| source.contains(&format!("fn {name}()")));
    assert!(is_there, "there is no test `{test}`");
    assert!(name.starts_with(&snake(item)), "`{test}` is not named after `{item}`");
}

#[test]
fn every_item_of_the_contract_has_its_tests() {
    let rows = rows();
    for row in &rows {
        let [item, method, contract, edge, ..] = row[..] else { panic!("{row:?}") };
        assert_ne!(contract, edge);
        assert_is_test(item, contract);
        assert_is_test(item, edge);
        assert!(SCENARIO.contains(&format!("{method}(")), "the scenario does not use `{method}`");
    }
    let told: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(told, CONTRACT.split_whitespace().collect());
    assert_eq!(rows.len(), told.len());
}

/// The example: what stands between the two lines is on the page line by line.
async fn example(folder: &Path, timestamp_ms: i64) -> Result<Conversation, Error> {
    // docs: begin
    let mut options = ConversationOptions::new("claude-sonnet-4-5", folder);
    options.store = Arc::new(FileStore::new(folder.join(".robota")));
    let mut conversation = Conversation::new(options)?;
    conversation.initialize().await?; // opens the log; without it the conversation lives in memory

    conversation.start_turn()?;
    let text = "What is here?".to_owned();
    let entry = ConversationEntry { timestamp_ms, text, speaker: Speaker::User };
    conversation.add_to_history(entry).await?; // it is in the log when this returns
    conversation.end_turn();
    conversation.shutdown().await?;
    // docs: end
    Ok(conversation)
}

#[tokio::test]
async fn the_example_of_the_page_runs() {
    let shown = DOCUMENT.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let source = include_str!("page.rs");
    let program = source.split("// docs: begin\n").nth(1).and_then(|rest| rest.split("// docs: end").next());
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    assert_eq!(lines(shown).trim(), lines(program.unwrap()).trim());
    let workspace = TempWorkspace::new();
    let conversation = example(workspace.root(), NOW).await.unwrap();
    assert_eq!(conversation.message_count(), 1);
    assert!(
        workspace
            .read(&format!(".robota/logs/{}.jsonl", conversation.session_id()))
            .contains("What is here?")
    );
}
