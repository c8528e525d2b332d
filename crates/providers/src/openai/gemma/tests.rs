//! What Gemma writes, and what only looks like it.

use proptest::prelude::*;
use robota_core::ToolClass;
use serde_json::json;

use super::*;

fn tools() -> Arc<[Arc<ToolSpec>]> {
    let schema = json!({"type": "object", "properties": {"filePath": {"type": "string"}, "limit": {"type": "integer"}}});
    let tool =
        |name: &str| Arc::new(ToolSpec::new(name, ToolClass::Inspect, "").with_input_schema(schema.clone()));
    Arc::new([tool("Read"), tool("ReadAll")])
}

/// The pieces of an answer that arrives in `chunks`, neighbours of one kind joined; and the bytes looked at.
fn read_counted<'a>(chunks: impl IntoIterator<Item = &'a str>) -> (Vec<Piece>, usize) {
    let mut gemma = Gemma::new(tools());
    let mut pieces = Vec::new();
    for chunk in chunks {
        gemma.push(chunk, &mut pieces);
    }
    gemma.finish(&mut pieces);
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more))
            | (Some(Piece::Thinking(text)), Piece::Thinking(more)) => {
                text.push_str(&more);
            }
            (_, piece) => joined.push(piece),
        }
    }
    (joined, gemma.work)
}

fn read(answer: &str) -> Vec<Piece> {
    read_counted([answer]).0
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn call(number: usize, name: &str, arguments: &str) -> Piece {
    Piece::Call { id: format!("gemma_call_{number}"), name: name.into(), arguments: arguments.into() }
}

#[test]
fn thinking_and_calls_between_marks_are_told_from_text() {
    let answer = "<|channel>thought\nWhich file?\n<channel|>\n\nI look. <|tool_call>call:Read{filePath:<|\"|>a<tool_call|>{b<|\"|>,limit:3}<tool_call|><|tool_call>call:Read{}<tool_call|>";
    let expected = [
        Piece::Thinking("Which file?\n".into()),
        text("I look. "),
        call(1, "Read", "{\"filePath\":\"a<tool_call|>{b\",\"limit\":3}"),
        call(2, "Read", "{}"),
    ];
    assert_eq!(read(answer), expected);
    assert_eq!(read("<|tool_call>call:Read{limit:1}"), [call(1, "Read", "{\"limit\":1}")]);
    assert_eq!(read("<|channel>thought\n<channel|>x"), [text("x")]);
    assert_eq!(read("<Read></Read>"), [call(1, "Read", "{}")]);
}

#[test]
fn calls_in_the_other_ways_of_the_family_are_read() {
    let arguments = "{\"filePath\":\"a\",\"limit\":5}";
    for written in [
        "<Read><filePath>a</filePath><limit>5</limit></Read>",
        "<Read>\n  {\"filePath\": \"a\", \"limit\": 5}\n</Read>",
        "<Read filePath=\"a\" limit='5' />",
        "<tool_call>\n{\"name\": \"Read\", \"arguments\": {\"filePath\": \"a\", \"limit\": 5}}\n</tool_call>",
        "{\"command\": \"Read\", \"args\": {\"filePath\": \"a\", \"limit\": 5}}",
        "```tool_code\nprint(Read(filePath=\"a\", limit=5))\n```",
    ] {
        let answer = format!("I look.\n{written}\nDone.");
        assert_eq!(
            read(&answer),
            [text("I look.\n"), call(1, "Read", arguments), text("\nDone.")],
            "{written}"
        );
    }
}

#[test]
fn what_only_looks_like_it_stays_text() {
    for answer in [
        "Vec<T> and <b>bold</b>, <div class=\"x\">y</div> and <Read> in a line",
        "<Read>\nis a trait</Read>",
        "<Reader>{\"filePath\": \"a\"}</Reader>",
        "fn f() -> Vec<Read>\n{\n    x\n}\n",
        "{\"name\": \"value\"}\n{\"name\": \"Other\", \"args\": {}} {}",
        "```json\n{\"command\": \"Read\", \"args\": {}}\n```\n",
        "~~~\n<|tool_call>call:Read{}<tool_call|>\n~~~",
        "```tool_code\nx = 1 + 1\n```",
        "<|tool_call>no call<tool_call|> and <tool_call|> alone",
        "<tool_call>{\"name\": \"Other\", \"arguments\": {}}</tool_call>",
        "a <|tool_ca",
        "``` not closed\n<Read>{}</Read>",
        "<Read>",
        "   ",
    ] {
        assert_eq!(read(answer), [text(answer)], "{answer}");
    }
}

#[test]
fn without_tools_only_thinking_is_read() {
    let mut gemma = Gemma::new(Arc::new([]));
    let mut pieces = Vec::new();
    gemma.push(
        "<|channel>thought\nHm<channel|><|tool_call>call:Read{}<tool_call|>\n{\"command\"",
        &mut pieces,
    );
    gemma.finish(&mut pieces);
    let Some((Piece::Thinking(thought), rest)) = pieces.split_first() else { panic!("{pieces:?}") };
    assert_eq!(thought, "Hm");
    assert!(rest.iter().all(|piece| matches!(piece, Piece::Text(_))), "{rest:?}");
}

/// Answers made of what matters, in any order.
fn answers() -> impl Strategy<Value = String> {
    const PARTS: [&str; 34] = [
        "<tool_call>",
        "</tool_call>",
        "<|channel>",
        "thought\n",
        "<channel|>",
        "<|tool_call>",
        "<tool_call|>",
        "call:Read{",
        "filePath:",
        "<|\"|>",
        "}",
        "<Read>",
        "</Read>",
        "<Read ",
        "/>",
        "<ReadAll>",
        "<filePath>",
        "</filePath>",
        "{\"command\":",
        "\"Read\"",
        ",\"args\":{",
        "```",
        "tool_code",
        "~~~",
        "print(Read(",
        "'a'",
        "))",
        "\n",
        " ",
        "ä",
        "<",
        "{",
        "x",
        "<b>",
    ];
    proptest::collection::vec(proptest::sample::select(&PARTS[..]), 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_split_into_chunks_does_not_matter(answer in answers(), cuts in proptest::collection::vec(0_usize..300, 0..12)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| answer.floor_char_boundary(cut)).collect();
        cuts.extend([0, answer.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &answer[pair[0]..pair[1]]);
        let whole = read(&answer);
        prop_assert_eq!(&read_counted(chunks).0, &whole);
        let characters = answer.char_indices().map(|(at, c)| &answer[at..at + c.len_utf8()]);
        prop_assert_eq!(read_counted(characters).0, whole);
    }

    #[test]
    fn text_without_marks_passes_unchanged(answer in "[a-z0-9 \\n.,<>/='\"äß}*_#-]{1,200}") {
        prop_assert_eq!(read(&answer), [text(&answer)]);
    }
}

#[test]
fn the_work_grows_with_the_length_of_the_answer_alone() {
    let beginnings = [
        "<|channel>thought\n",
        "<|tool_call>call:Read{a:<|\"|>",
        "<Read>{",
        "<Read ",
        "{\"name\": ",
        "```tool_code\n",
        "```rust\n",
        "",
    ];
    let fillings = ["a", "<", "<|", "`", "\n", "{", "\"", "<|tool_cal", "\n<Rea", "\n{\"nam", "</Rea", " "];
    for beginning in beginnings {
        for filling in fillings {
            let answer = format!("{beginning}{}", filling.repeat(3_000));
            let characters = answer.char_indices().map(|(at, c)| &answer[at..at + c.len_utf8()]);
            let (_, work) = read_counted(characters);
            assert!(work <= 16 * answer.len(), "{beginning:?} {filling:?}: {work} for {}", answer.len());
        }
    }
}
