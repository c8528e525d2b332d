//! Random command lines, judged, and taken apart by another parser: under a verdict of allow every
//! simple command that it finds is one that a rule names.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList, ExtendedTestExpr,
    IoFileRedirectTarget, IoRedirect, Pipeline, SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};
use robota_core::{Access, Decision, PermissionMode, PermissionPolicy, RuleSet, ToolClass, ToolSpec};

use crate::random_commands::Generator;

const NAMES: [&str; 9] = ["git", "ls", "cat", "grep", "wc", "sort", "echo", "true", "read"];

#[test]
fn every_command_that_another_parser_finds_is_covered() {
    let allow = NAMES.iter().map(|name| format!("Bash({name} *)").parse().unwrap()).collect();
    let policy = PermissionPolicy {
        mode: PermissionMode::Default,
        rules: RuleSet { allow, ..RuleSet::default() },
        roots: vec!["/work/app".into()],
        cwd: "/work/app".into(),
        home: None,
        protected_dirs: Vec::new(),
        confinement: None,
    };
    let spec = ToolSpec::new("Bash", ToolClass::Execute, "");
    let mut compared = 0;
    for seed in 0..4_000 {
        let line = Generator::new(seed).line();
        let access = [Access::Command { command: line.clone(), cwd: "/work/app".into() }];
        if policy.evaluate(&spec, &access).decision != Decision::Allow {
            continue;
        }
        let mut walk = Walk::default();
        if walk.script(&line).is_none() {
            continue;
        }
        compared += 1;
        for name in &walk.names {
            let is_covered = NAMES.contains(&name.as_str()) || walk.functions.contains(name);
            assert!(is_covered, "seed {seed}: {line:?} calls {name:?}");
        }
    }
    assert!(compared > 200, "only {compared} lines were compared");
}

/// The names of the simple commands that are found, as written without quotes.
#[derive(Default)]
struct Walk {
    names: Vec<String>,
    functions: Vec<String>,
}

impl Walk {
    fn script(&mut self, text: &str) -> Option<()> {
        let mut parser = Parser::new(text.as_bytes(), &ParserOptions::default());
        let program = parser.parse_program().ok()?;
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    fn list(&mut self, list: &CompoundList) -> Option<()> {
        list.0.iter().try_for_each(|item| {
            self.pipeline(&item.0.first)?;
            item.0.additional.iter().try_for_each(|next| match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
            })
        })
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<()> {
        pipeline.seq.iter().try_for_each(|command| self.command(command))
    }

    fn command(&mut self, command: &Command) -> Option<()> {
        let redirects = match command {
            Command::Simple(simple) => return self.simple(simple),
            Command::Function(function) => {
                self.functions.push(function.fname.value.clone());
                self.compound(&function.body.0)?;
                function.body.1.as_ref()
            }
            Command::Compound(compound, redirects) => {
                self.compound(compound)?;
                redirects.as_ref()
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr)?;
                redirects.as_ref()
            }
        };
        redirects.map_or(Some(()), |list| list.0.iter().try_for_each(|redirect| self.redirect(redirect)))
    }

    fn compound(&mut self, compound: &CompoundCommand) -> Option<()> {
        match compound {
            CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) => None,
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                clause.values.iter().flatten().try_for_each(|word| self.word(word))?;
                self.list(&clause.body.list)
            }
            CompoundCommand::CaseClause(case) => {
                self.word(&case.value)?;
                case.cases.iter().try_for_each(|item| {
                    item.patterns.iter().try_for_each(|pattern| self.word(pattern))?;
                    item.cmd.iter().try_for_each(|list| self.list(list))
                })
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.list(&clause.then)?;
                clause.elses.iter().flatten().try_for_each(|other| {
                    other.condition.iter().try_for_each(|list| self.list(list))?;
                    self.list(&other.body)
                })
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0)?;
                self.list(&clause.1.list)
            }
            CompoundCommand::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) -> Option<()> {
        if let Some(name) = &simple.word_or_name {
            self.word(name)?;
            self.names.push(brush_parser::unquote_str(&name.value.replace("\\\n", "")));
        }
        let before = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let after = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        before.chain(after).try_for_each(|item| match item {
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                self.word(word)
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => self.list(&subshell.list),
        })
    }

    fn redirect(&mut self, redirect: &IoRedirect) -> Option<()> {
        match redirect {
            IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, subshell)) => {
                self.list(&subshell.list)
            }
            IoRedirect::File(
                _,
                _,
                IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word),
            )
            | IoRedirect::HereString(_, word)
            | IoRedirect::OutputAndError(word, _) => self.word(word),
            IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => Some(()),
            IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                let pieces = word::parse_heredoc(&document.doc.value, &ParserOptions::default()).ok()?;
                self.pieces(&pieces)
            }
            IoRedirect::HereDocument(..) => Some(()),
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr) -> Option<()> {
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left)?;
                self.test(right)
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.word(word),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(left)?;
                self.word(right)
            }
        }
    }

    fn word(&mut self, word: &Word) -> Option<()> {
        let pieces = word::parse(&word.value, &ParserOptions::default()).ok()?;
        self.pieces(&pieces)
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource]) -> Option<()> {
        pieces.iter().try_for_each(|piece| match &piece.piece {
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner)
            }
            WordPiece::CommandSubstitution(text) | WordPiece::BackquotedCommandSubstitution(text) => {
                self.script(text)
            }
            _ => Some(()),
        })
    }
}
