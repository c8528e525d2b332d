//! What is left of programs that had to be ended: nothing.

use std::io::{PipeReader, Read};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use robota_tools::process::{self, CommandLine, Ending, adopt_orphans};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How many programs run at once.
const BATCH: usize = 50;

/// Says to the test program that it runs a test by itself.
const ALONE: &str = "ROBOTA_TEST_ALONE";

/// Each says `up` when what it has started runs. All of it ends by itself, much later.
const WAYS: [&str; 8] = [
    "echo up; sleep 300",
    "setsid sleep 300 & echo up; wait",
    "(setsid sh -c 'sleep 300 & sleep 300' &); echo up; sleep 300",
    "nohup sh -c 'trap \"\" HUP TERM; sleep 300; sleep 300' >/dev/null 2>&1 & echo up; exec sleep 300",
    "trap '' TERM; (trap '' TERM; setsid sh -c 'for _ in $(seq 300); do sleep 1; done') & echo up; for _ in $(seq 300); do sleep 1; done",
    "(setsid env -i PATH=/usr/bin:/bin sh -c '(setsid sleep 300 &); sleep 300' &); echo up; sleep 300",
    "trap '(setsid sleep 300 &)' TERM; echo up; for _ in $(seq 300); do (setsid sleep 300 &); sleep 0.1; done",
    "setsid sh -c 'kill -STOP $$; sleep 300' & echo up; kill -STOP $$; sleep 300",
];

#[derive(Clone, Copy, Debug)]
enum End {
    TimedOut,
    Cancelled,
    Dropped,
}

/// As often as `ROBOTA_TEST_KILLS` says, as the other kill tests do.
fn kills() -> usize {
    let told = std::env::vars().find_map(|(name, value)| (name == "ROBOTA_TEST_KILLS").then_some(value));
    told.and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// It concerns the whole process, and so has one of its own.
#[test]
fn timeouts_and_aborts_leave_no_descendant_and_no_zombie() {
    let name = "processes::timeouts_and_aborts_leave_no_descendant_and_no_zombie";
    if std::env::vars().any(|(name, _)| name == ALONE) {
        return tokio::runtime::Runtime::new().unwrap().block_on(end_all());
    }
    let own = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&own.stdout) + String::from_utf8_lossy(&own.stderr);
    assert!(own.status.success() && text.contains("1 passed"), "{text}");
}

async fn end_all() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    // Started at the same moment as a command of another test, this process may have got the mark of that one.
    let Rlimit { maximum, .. } = getrlimit(Resource::Msgqueue);
    setrlimit(Resource::Msgqueue, Rlimit { current: maximum, maximum }).unwrap();
    adopt_orphans().unwrap();
    let kills: Vec<usize> = (0..kills()).collect();
    for batch in kills.chunks(BATCH) {
        let mut running = JoinSet::new();
        for number in batch {
            let end = [End::TimedOut, End::Cancelled, End::Dropped][number / WAYS.len() % 3];
            running.spawn(end_one(WAYS[number % WAYS.len()], end));
        }
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
    }
    // What was dropped is collected in the background.
    let patience = async {
        while !zombies().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let collected = tokio::time::timeout(Duration::from_secs(20), patience).await;
    assert!(collected.is_ok(), "zombies: {:?}", zombies());
}

/// A program of somebody else in this process, started at the same moment as a command, has its limits but is none
/// of its family.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_of_others_live_on() {
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let others = std::thread::spawn(move || {
        let mut ends = Vec::new();
        while !stopped.is_cancelled() {
            let start = |_| Command::new("/bin/sleep").arg("0.3").env_clear().spawn().unwrap();
            let started: Vec<_> = (0..20).map(start).collect();
            ends.extend(started.into_iter().map(|mut child| child.wait().unwrap()));
        }
        ends
    });
    for _ in 0..20 {
        let mut running = JoinSet::new();
        for _ in 0..8 {
            let line = command("sleep 1000", Duration::from_millis(60));
            running.spawn(async move { process::run(line, None, &CancellationToken::new(), |_| {}).await });
        }
        while let Some(ended) = running.join_next().await {
            assert_eq!(ended.unwrap().unwrap().ending, Ending::TimedOut);
        }
    }
    stop.cancel();
    let killed: Vec<_> = others.join().unwrap().into_iter().filter(|end| !end.success()).collect();
    assert_eq!(killed, []);
}

/// Starts a program, ends it in its way, and waits until nobody holds its lifeline.
async fn end_one(way: &str, end: End) {
    let (lifeline, held) = std::io::pipe().unwrap();
    let line = format!("exec 3>/proc/{}/fd/{}; {way}", std::process::id(), held.as_raw_fd());
    let timeout =
        if matches!(end, End::TimedOut) { Duration::from_millis(500) } else { Duration::from_secs(600) };
    let cancel = CancellationToken::new();
    let (up, is_up) = oneshot::channel();
    let up = Mutex::new(Some(up));
    let show = move |_: &str| {
        if let Some(up) = up.lock().unwrap().take() {
            up.send(()).unwrap();
        }
    };
    let stop = cancel.clone();
    let run = tokio::spawn(async move { process::run(command(&line, timeout), None, &stop, show).await });
    if !matches!(end, End::TimedOut) {
        is_up.await.unwrap();
    }
    match end {
        End::TimedOut => assert_eq!(run.await.unwrap().unwrap().ending, Ending::TimedOut, "{way}"),
        End::Cancelled => {
            cancel.cancel();
            assert_eq!(run.await.unwrap().unwrap().ending, Ending::Cancelled, "{way}");
        }
        End::Dropped => run.abort(),
    }
    drop(held);
    let gone = tokio::time::timeout(Duration::from_secs(60), closed(lifeline)).await;
    assert!(gone.is_ok(), "somebody survived {end:?}: {way}");
}

#[tokio::test]
async fn what_ends_by_itself_leaves_its_servers_alone() {
    let line = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
    let finished =
        process::run(command(line, Duration::from_secs(60)), None, &CancellationToken::new(), |_| {}).await;
    let finished = finished.unwrap();
    let server = finished.output.trim().to_owned();
    assert_eq!((finished.ending, finished.left_behind), (Ending::Exited(0), false));
    assert!(crate::session::is_running(&server));
    let kill = command(&format!("kill {server}"), Duration::from_secs(60));
    assert_eq!(
        process::run(kill, None, &CancellationToken::new(), |_| {}).await.unwrap().ending,
        Ending::Exited(0)
    );
}

fn command(line: &str, timeout: Duration) -> CommandLine {
    CommandLine {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".into(), line.into()],
        directory: PathBuf::from("/"),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        timeout,
    }
}

async fn closed(mut lifeline: PipeReader) {
    let read = tokio::task::spawn_blocking(move || lifeline.read_to_end(&mut Vec::new()));
    assert_eq!(read.await.unwrap().unwrap(), 0);
}

/// Children of this process that have ended and that nobody has collected.
fn zombies() -> Vec<String> {
    let this = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_zombie = |stat: &String| {
        let mut fields = stat.rsplit(')').next().unwrap().split_ascii_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&*this)
    };
    stats.filter(is_zombie).collect()
}
