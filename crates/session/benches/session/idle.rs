//! Memory of many open sessions that wait for their next prompt.

use robota_session::Session;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use crate::scene::{Scene, fill};
use crate::stopwatch::Stopwatch;
use crate::{memory, show, wanted};

const SESSIONS: usize = 1_000;

/// Opens 1,000 sessions of 20 messages each and prints what they hold.
pub(crate) fn report(runtime: &Runtime) {
    if !wanted("1,000 open idle sessions") {
        return;
    }
    // Each session holds its log and its lock open.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let Some(before) = memory::resident() else {
        return show("1,000 open idle sessions", "not measured: this system has no /proc");
    };
    let scene = Scene::new();
    let sessions = runtime.block_on(open(&scene));
    let after = memory::resident().unwrap_or_default();
    let held = after.saturating_sub(before) as f64;
    let figure = format!("{:.1} MB, {:.1} kB each", held / 1e6, held / 1e3 / sessions.len() as f64);
    show("1,000 open idle sessions of 20 messages, 10 kB", &figure);
}

async fn open(scene: &Scene) -> Vec<Session> {
    let mut sessions = Vec::with_capacity(SESSIONS);
    for _ in 0..SESSIONS {
        let session = Session::create(scene.options(Stopwatch::new(0))).await.unwrap();
        fill(&session, 20, 500);
        session.flush().await.unwrap();
        sessions.push(session);
    }
    sessions
}
