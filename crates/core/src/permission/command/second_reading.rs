//! A second opinion on what the commands of a line are, from the grammar of tree-sitter.
//!
//! The strict [`reader`](super::reader) must not be the only judge of what Bash would run: a line with
//! more than plain words, lists and pipes counts as understood only when tree-sitter-bash reads it
//! without error and finds exactly the same commands at the same places.
//!
//! Candidates were tried on 79 hard command lines. tree-sitter-bash 0.25 found the exact commands of
//! 67 and silently missed some in 5 (`time -p`, `coproc`, `<<-`, escaped backquotes); brush-parser 0.4
//! was exact on 74, missed some in 2, and overflows the stack on 2,000 nested groups;
//! yash-syntax 0.21 (GPL) and conch-parser 0.1 (unmaintained) were behind both. Misses do not matter where
//! another reading must agree. tree-sitter takes 12 µs for a short command and the strict reader less
//! than one, so plain lines are left to the latter. In tests brush gives the third reading, and a real
//! Bash the fourth.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tree_sitter::{Node, Parser};

use super::script::Script;

/// The longest line that is read a second time, in bytes.
const LONGEST: usize = 64 * 1024;

/// Why a second reading does not come to the same commands; `None` when it does.
pub(super) fn objection(source: &str, script: &Script) -> Option<&'static str> {
    if source.len() > LONGEST {
        return Some("it is too long for a second reading of its grammar");
    }
    let Some(found) = commands(source) else {
        return Some("a second reading of its grammar fails");
    };
    let expected: BTreeSet<usize> = script.commands().map(|(part, _)| part.range.start).collect();
    (found != expected).then_some("a second reading finds other commands in it")
}

/// Where the commands begin, when all of the line is understood.
fn commands(source: &str) -> Option<BTreeSet<usize>> {
    thread_local! {
        static PARSER: RefCell<Option<Parser>> = RefCell::new(parser());
    }
    let tree = PARSER.with_borrow_mut(|parser| parser.as_mut()?.parse(source, None))?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut found = BTreeSet::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_missing() || node.is_error() {
            return None;
        }
        found.extend(begin_of_command(source, node));
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return Some(found);
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// Where the name of the command stands that `node` is.
fn begin_of_command(source: &str, node: Node<'_>) -> Option<usize> {
    match node.kind() {
        "command_name" if source.get(node.byte_range()) == Some("coproc") => {
            Some(node.next_sibling()?.start_byte())
        }
        "command_name" | "declaration_command" | "unset_command" => Some(node.start_byte()),
        "test_command" => {
            source.get(node.start_byte()..).filter(|text| !text.starts_with("[[")).map(|_| node.start_byte())
        }
        _ => None,
    }
}
