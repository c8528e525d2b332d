//! The prompt of print mode: words of the command line, standard input, or both.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::exit::{Exit, Failure};

/// The longest prompt, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// How long to wait for a first byte on an open standard input when the command line has a prompt.
/// Programs that start robota often leave their own standard input open, and it never ends.
const FIRST_BYTE: Duration = Duration::from_secs(3);

/// What standard input gave.
enum Piped {
    Nothing,
    Text(Vec<u8>),
    Failed(io::Error),
}

/// Joins `words` with what is piped into standard input.
pub(crate) fn read(words: &[String]) -> Result<String, Failure> {
    let written = words.join(" ");
    let piped =
        if io::stdin().is_terminal() { Piped::Nothing } else { read_piped(!written.trim().is_empty()) };
    let piped = match piped {
        Piped::Nothing => String::new(),
        Piped::Text(bytes) => decode(bytes)?,
        Piped::Failed(error) => {
            return Err(Failure::new(Exit::Usage, format!("standard input cannot be read: {error}")));
        }
    };
    join(&written, &piped)
}

fn join(written: &str, piped: &str) -> Result<String, Failure> {
    let (written, piped) = (written.trim(), piped.trim_end());
    if written.len() + piped.len() > MAX_BYTES {
        let message = format!(
            "the prompt has {:.1} MB; the limit is {} MB",
            (written.len() + piped.len()) as f64 / 1e6,
            MAX_BYTES / 1024 / 1024
        );
        return Err(Failure::new(Exit::Usage, message)
            .with_hint("Put the text into a file in the project and name it in the prompt."));
    }
    match (written.is_empty(), piped.trim().is_empty()) {
        (true, true) => Err(Failure::new(Exit::Usage, "there is no prompt")
            .with_hint("Write it behind -p, or pipe it in: robota -p \"explain this project\"")),
        (false, true) => Ok(written.to_owned()),
        (true, false) => Ok(piped.to_owned()),
        (false, false) => Ok(format!("{written}\n\n{piped}")),
    }
}

fn decode(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        let message = format!("standard input is not UTF-8 text: byte 0x{byte:02x} at offset {at}");
        Failure::new(Exit::Usage, message)
            .with_hint("Convert it (iconv -f latin1 -t utf-8), or name the file in the prompt instead.")
    })
}

/// Reads standard input on a thread of its own, because a read cannot be taken back.
fn read_piped(has_prompt: bool) -> Piped {
    let (first, first_byte) = mpsc::channel();
    let (whole, all) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock().take(MAX_BYTES as u64 + 1);
        let mut bytes = vec![0; 64 * 1024];
        let begun = stdin.read(&mut bytes);
        let _ = first.send(());
        let result = begun.and_then(|count| {
            bytes.truncate(count);
            if count > 0 { stdin.read_to_end(&mut bytes).map(|_| bytes) } else { Ok(bytes) }
        });
        let _ = whole.send(result);
    });
    if has_prompt && first_byte.recv_timeout(FIRST_BYTE) == Err(RecvTimeoutError::Timeout) {
        return Piped::Nothing;
    }
    match all.recv() {
        Ok(Ok(bytes)) => Piped::Text(bytes),
        Ok(Err(error)) => Piped::Failed(error),
        Err(_) => Piped::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_are_joined_by_a_blank_line() {
        assert_eq!(join("explain", "fn main() {}\n").unwrap(), "explain\n\nfn main() {}");
        assert_eq!(join("", "  indented\n").unwrap(), "  indented");
        assert_eq!(join("/not a command", "").unwrap(), "/not a command");
    }

    #[test]
    fn an_empty_or_huge_prompt_is_refused_with_advice() {
        let error = join(" ", "\n").unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.render().contains("there is no prompt"));
        let error = join("x", &"y".repeat(MAX_BYTES)).unwrap_err();
        assert!(error.render().contains("the limit is 10 MB"), "{}", error.render());
    }

    #[test]
    fn what_is_not_text_is_located() {
        let error = decode(b"abc\xff".to_vec()).unwrap_err();
        assert!(error.message.contains("byte 0xff at offset 3"), "{}", error.message);
    }
}
