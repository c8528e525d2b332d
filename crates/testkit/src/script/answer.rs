//! What the steps of a reply come to: content blocks, token counts and the reason of the end.

use robota_core::{Citation, FinishReason, Usage};
use serde_json::Value;

use super::Step;

/// Token counts of a reply that names none.
const USUAL_USAGE: Usage =
    Usage { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };

/// The whole of a reply, as an API that does not stream would give it.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<Block>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: FinishReason,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Block {
    Text { text: String, citations: Vec<Citation> },
    Thinking { text: String, signature: Option<String> },
    RedactedThinking(String),
    ToolCall { id: String, name: String, arguments: String },
    ServerTool { id: String, name: String, input: Value, result: Value },
}

impl Answer {
    pub(crate) fn of(steps: &[Step]) -> Self {
        let mut blocks = Vec::new();
        for step in steps {
            match step {
                Step::Text(pieces) => text_in(&mut blocks).0.push_str(&pieces.joined()),
                Step::Citation(citation) => text_in(&mut blocks).1.push(citation.clone()),
                Step::ServerTool { id, name, input, result } => blocks.push(Block::ServerTool {
                    id: id.clone(),
                    name: name.clone(),
                    input: input.clone(),
                    result: result.clone(),
                }),
                Step::Thinking { text, signature } => {
                    blocks.push(Block::Thinking { text: text.joined(), signature: signature.clone() });
                }
                Step::RedactedThinking(data) => blocks.push(Block::RedactedThinking(data.clone())),
                Step::ToolCall { id, name, arguments } => blocks.push(Block::ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.joined(),
                }),
                Step::Arguments(pieces) => {
                    if let Some(Block::ToolCall { arguments, .. }) = blocks.last_mut() {
                        arguments.push_str(&pieces.joined());
                    }
                }
                _ => {}
            }
        }
        Self { blocks, usage: stated_usage(steps), stop: stated_stop(steps) }
    }
}

/// Text and sources of the text block at the end, made when there is none.
fn text_in(blocks: &mut Vec<Block>) -> (&mut String, &mut Vec<Citation>) {
    if !matches!(blocks.last(), Some(Block::Text { .. })) {
        blocks.push(Block::Text { text: String::new(), citations: Vec::new() });
    }
    match blocks.last_mut() {
        Some(Block::Text { text, citations }) => (text, citations),
        _ => unreachable!("the last block is a text"),
    }
}

/// The token counts the steps state, the last ones where there are several.
pub(crate) fn stated_usage(steps: &[Step]) -> Option<Usage> {
    let stated = steps.iter().rev().find_map(|step| match step {
        Step::Usage(usage) => Some(*usage),
        _ => None,
    });
    stated.unwrap_or(Some(USUAL_USAGE))
}

/// Why the reply ends: as stated, or by the presence of tool calls.
pub(crate) fn stated_stop(steps: &[Step]) -> FinishReason {
    let stated = steps.iter().rev().find_map(|step| match step {
        Step::Stop(reason) => Some(reason.clone()),
        _ => None,
    });
    stated.unwrap_or_else(|| {
        let calls = steps.iter().any(|step| matches!(step, Step::ToolCall { .. }));
        if calls { FinishReason::ToolUse } else { FinishReason::EndTurn }
    })
}
