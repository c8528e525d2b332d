//! A second opinion on what the commands of a line are, from the grammar of tree-sitter.
//!
//! The strict [`reader`](super::reader) must not be the only judge of what Bash would run: a line with
//! more than plain words, lists and pipes counts as understood only when tree-sitter-bash reads it
//! without error and finds exactly the same commands at the same places.
//!
//! Candidates were tried on 79 hard command lines, each to report the exact commands. Of the well-kept ones
//! tree-sitter-bash 0.25 did so on 67 and brush-parser 0.4 on 74, but each silently missed commands on some:
//! the former behind `time -p`, `coproc`, `<<-` and escaped backquotes, the latter in `( (rm x) )`, and brush
//! overflows the stack on 2,000 nested groups. Misses do no harm where another reading must agree. Reading a line
//! with tree-sitter costs several times as much as reading it strictly, so plain lines are left to the
//! latter, and its time is not linear in the number of here-documents, which the strict reader bounds. In
//! tests brush gives the third reading, and a real Bash the fourth.

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
