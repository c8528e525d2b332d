//! What of the output of a command is shown, and where the rest is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use robota_core::{OutputSpill, SpillFile, ToolContext, ToolOutcome};
use serde_json::json;

use crate::session::Session;

/// Keeps outputs in a folder.
#[derive(Default)]
struct Shelf {
    folder: PathBuf,
    capacity: Option<u64>,
    /// Lets each write go on.
    slow: Option<Arc<Mutex<Receiver<()>>>>,
    full: bool,
}

struct Item {
    file: Option<File>,
    path: PathBuf,
    capacity: u64,
    slow: Option<Arc<Mutex<Receiver<()>>>>,
}

impl OutputSpill for Shelf {
    fn begin(&self, call_id: &str) -> io::Result<Box<dyn SpillFile>> {
        if self.full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let path = self.folder.join(call_id);
        let (file, slow) = (Some(File::create(&path)?), self.slow.clone());
        Ok(Box::new(Item { file, path, capacity: self.capacity.unwrap_or(u64::MAX), slow }))
    }
}

impl Write for Item {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(slow) = &self.slow {
            let _go_on_or_gone = slow.lock().unwrap().recv();
        }
        self.file.as_mut().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillFile for Item {
    fn path(&self) -> &Path {
        &self.path
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.file = None;
        Ok(())
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            fs::remove_file(&self.path).unwrap();
        }
    }
}

async fn kept(session: &Session, command: &str, shelf: Shelf) -> (ToolOutcome, PathBuf) {
    let folder = session.path("");
    let shelf = Shelf { folder: folder.clone(), ..shelf };
    let context = ToolContext::new("kept", session.cancel.clone()).with_spill(Some(Arc::new(shelf)));
    let outcome = session.call_in("Bash", &json!({"command": command, "timeout": 60_000}), context).await;
    (outcome, folder.join("kept"))
}

#[tokio::test]
async fn a_long_output_is_kept_whole_as_it_was() {
    let session = Session::new();
    let (outcome, file) = kept(&session, "printf '\\033[1m\\377\\n'; seq 1 100000", Shelf::default()).await;
    let mut whole = b"\x1b[1m\xff\n".to_vec();
    (1..=100_000).for_each(|number| writeln!(whole, "{number}").unwrap());
    assert_eq!(fs::read(&file).unwrap(), whole);
    let text = &outcome.content;
    assert!(text.starts_with("\u{FFFD}\n1\n2\n") && text.ends_with("\n99999\n100000"), "{text}");
    let notice = text.lines().find(|line| line.starts_with("[... ")).unwrap();
    let line = text[..text.find("[... ").unwrap()].lines().count() + 1;
    let place =
        format!("bytes left out here; all of it is in {}: Read it with offset {line} ...]", file.display());
    assert!(notice.ends_with(&place), "{notice}");
    // What is read there goes on where the beginning ends.
    let next = session.ok("Read", json!({"filePath": file, "offset": line, "limit": 1})).await;
    assert!(next.contains(&format!("{}", line - 1)), "{next}");
    let facts = outcome.structured.unwrap();
    assert_eq!((&facts["truncated"], &facts["outputFile"]), (&json!(true), &json!(file)));
    let shown: usize = text.lines().filter(|line| !line.starts_with('[')).map(|line| line.len() + 1).sum();
    let omitted: usize = notice.split(' ').nth(1).unwrap().parse().unwrap();
    // The escape sequence is not shown, U+FFFD is two bytes longer, and the last line end is trimmed.
    assert_eq!(shown + omitted + 4 - 2, whole.len());
}

#[tokio::test]
async fn what_has_no_room_is_said() {
    let session = Session::new();
    let shelf = Shelf { capacity: Some(50_000), ..Shelf::default() };
    let (outcome, file) = kept(&session, "yes | head -c 2000000", shelf).await;
    assert_eq!(fs::metadata(&file).unwrap().len(), 50_000);
    let place = format!("; all of it but the last 1950000 bytes is in {}: Read it", file.display());
    assert!(outcome.content.contains(&place), "{}", &outcome.content[12_000..12_600]);

    let (outcome, file) =
        kept(&session, "yes | head -c 2000000", Shelf { full: true, ..Shelf::default() }).await;
    assert!(outcome.content.contains("bytes left out here; it could not be kept: "));
    assert_eq!((outcome.is_error, outcome.structured.unwrap().get("outputFile")), (false, None));
    fs::remove_file(file).unwrap();
    let (_, file) = kept(&session, "seq 1 100", Shelf::default()).await;
    assert!(!file.exists(), "a short output needs no file");
}

#[tokio::test]
async fn binary_garbage_is_one_line() {
    let session = Session::new();
    for (command, size) in [("cat data", 1000), ("cat data; head -c 99000 /dev/zero", 100_000)] {
        let data: Vec<u8> = (0..1000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        session.put("data", &data);
        let (outcome, file) = kept(&session, command, Shelf::default()).await;
        let place = file.display();
        assert_eq!(
            outcome.content,
            format!("[binary output of {size} bytes, not shown; all of it is in {place}]")
        );
        assert!(fs::read(&file).unwrap().starts_with(&data));
        assert_eq!(fs::metadata(&file).unwrap().len(), size);
        let text = session.ok("Bash", json!({"command": command})).await;
        assert_eq!(text, format!("[binary output of {size} bytes, not shown]"));
    }
}

#[tokio::test]
async fn text_is_made_harmless() {
    let session = Session::new();
    let command = r"printf '\033[31mred\033[0m \033]0;title\007a\bb\0c\n 10%%\r 99%%\rdone\r\n'";
    assert_eq!(session.ok("Bash", json!({"command": command})).await, "red a\\x08b\\x00c\ndone");
}

#[tokio::test]
async fn a_slow_disk_holds_up_the_command_and_nothing_else() {
    let session = Session::new();
    let (go_on, slow): (Sender<()>, _) = channel();
    let shelf = Shelf { slow: Some(Arc::new(Mutex::new(slow))), ..Shelf::default() };
    let call = kept(&session, "yes | head -c 3000000", shelf);
    tokio::pin!(call);
    // The one thread of this runtime is free while the disk is not, and the command waits.
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(500), &mut call).await;
    assert!(waiting.is_err());
    drop(go_on);
    let (outcome, file) = call.await;
    assert!(!outcome.is_error);
    assert_eq!(fs::metadata(file).unwrap().len(), 3_000_000);
}

/// Runs the test below in a process of its own, whose memory is that of nobody else.
#[test]
fn a_flood_costs_little_memory() {
    let this = std::env::current_exe().unwrap();
    let flood = "bash_output::a_flood_in_a_process_of_its_own";
    let run = std::process::Command::new(this).args([flood, "--exact", "--ignored", "--nocapture"]).output();
    let run = run.unwrap();
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&run.stderr)
    );
    print!("{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test above"]
async fn a_flood_in_a_process_of_its_own() {
    let long = std::env::vars().any(|(name, _)| name == "ROBOTA_TEST_KILLS");
    let size: u64 = if long { 10_000_000_000 } else { 200_000_000 };
    let session = Session::new();
    let folder = session.path("");
    let shelf = Shelf { folder, capacity: Some(50_000_000), ..Shelf::default() };
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let context = ToolContext::new("flood", session.cancel.clone())
        .with_spill(Some(Arc::new(shelf)))
        .with_progress(move |text| seen.lock().unwrap().push(text.len()));
    let before = memory("VmRSS:");
    let started = std::time::Instant::now();
    let flood = json!({"command": format!("yes | head -c {size}"), "timeout": 600_000});
    let outcome = session.call_in("Bash", &flood, context).await;
    let took = started.elapsed();
    let cost = memory("VmHWM:") - before;
    assert!(!outcome.is_error && outcome.content.len() < 30_000, "{}", outcome.content.len());
    let events = std::mem::take(&mut *events.lock().unwrap());
    let (count, bytes) = (events.len(), events.iter().sum::<usize>());
    println!("{size} bytes in {took:?}: {cost} kB, {count} events of {bytes} bytes");
    assert!(cost <= 20 * 1024, "{cost} kB");
    assert!(count as u128 <= took.as_millis() / 100 + 3, "{count} events in {took:?}");
    assert!(bytes < 300_000 + count * 1200, "{bytes} bytes of events");
}

/// A figure of this process, in kB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}
