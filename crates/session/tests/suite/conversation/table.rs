//! The table of `docs/conversation.md` is held against the contract and the tests.

use std::collections::BTreeSet;

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
