//! What is left over in a store.

use std::fs::{self, File};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use robota_core::Ambient;
use robota_session::archive::{GcKind, GcOptions, apply_gc, plan_gc, rename};
use robota_session::{ErrorKind, FileStore, Session, SessionStore};
use robota_testkit::FixedClock;

use super::two_turns;
use crate::scene::{Scene, id};

const OLD: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const USED: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const INNER: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// A session `s` with payloads, and all kinds of things that somebody left.
async fn untidy() -> Scene {
    let scene = two_turns().await;
    let write = |path: &str, text: &str| {
        scene.workspace.write(path, text);
        // The clock of the store stands at the beginning of 2026.
        let file = File::options().write(true).open(scene.workspace.path(path)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_760_000_000)).unwrap();
    };
    let log = scene.log();
    write(".robota/logs/s.jsonl", &format!("{log}{{\"sha256\":\"{USED}\"\n"));
    write(&format!(".robota/logs/s.payloads/{USED}.json"), &format!("{{\"sha256\":\"{INNER}\"}}"));
    write(&format!(".robota/logs/s.payloads/{INNER}.json"), "1");
    write(&format!(".robota/logs/s.payloads/{OLD}.json"), "unused");
    write(&format!(".robota/logs/gone.payloads/{OLD}.json"), "orphan");
    write(".robota/sessions/dead.lock", "{}");
    write(".robota/sessions/.writing-abc", "half");
    write(".robota/logs/s.payloads/.writing-def", "half");
    write(".robota/sessions/only.json", "{\"id\":\"only\"}");
    scene.workspace.write(".robota/sessions/.writing-new", "now");
    scene
}

#[tokio::test]
async fn what_is_left_over_is_shown_and_then_removed() {
    let scene = untidy().await;
    let plan = plan_gc(&scene.store, &GcOptions::default()).await.unwrap();
    let relative = |path: &std::path::Path| {
        path.strip_prefix(scene.workspace.path(".robota")).unwrap().display().to_string()
    };
    let found: Vec<(GcKind, String, u64)> =
        plan.items.iter().map(|item| (item.kind, relative(&item.path), item.bytes)).collect();
    let expected = [
        (GcKind::Leftover, "logs/s.payloads/.writing-def".to_owned(), 4),
        (GcKind::Leftover, "sessions/.writing-abc".to_owned(), 4),
        (GcKind::StaleLock, "sessions/dead.lock".to_owned(), 2),
        (GcKind::OrphanPayloads, "logs/gone.payloads".to_owned(), 6),
        (GcKind::UnusedPayload, format!("logs/s.payloads/{OLD}.json"), 6),
    ];
    assert_eq!((found, plan.bytes()), (expected.to_vec(), 22));
    assert!(plan.left_alone.is_empty(), "{:?}", plan.left_alone);
    assert!(plan.items.iter().all(|item| item.path.exists()), "a plan removes nothing");

    let report = apply_gc(&scene.store, plan.clone()).await.unwrap();
    assert_eq!((report.removed, report.kept.len(), report.bytes), (plan.items.clone(), 0, 22));
    assert!(plan.items.iter().all(|item| !item.path.exists()));
    for stays in [
        format!("logs/s.payloads/{USED}.json"),
        format!("logs/s.payloads/{INNER}.json"),
        "sessions/only.json".to_owned(),
        "sessions/.writing-new".to_owned(),
        "sessions/s.json".to_owned(),
    ] {
        assert!(scene.workspace.path(&format!(".robota/{stays}")).exists(), "{stays}");
    }
    assert_eq!(plan_gc(&scene.store, &GcOptions::default()).await.unwrap().items, []);
}

#[tokio::test]
async fn what_has_come_into_use_meanwhile_stays() {
    let scene = untidy().await;
    let plan = plan_gc(&scene.store, &GcOptions::default()).await.unwrap();
    let log = scene.log();
    scene.workspace.write(".robota/logs/s.jsonl", format!("{log}{{\"sha256\":\"{OLD}\"\n"));
    scene.workspace.write(".robota/logs/gone.jsonl", "");
    let report = apply_gc(&scene.store, plan).await.unwrap();
    let reasons: Vec<&str> = report.kept.iter().map(|kept| kept.reason.as_str()).collect();
    assert_eq!(reasons, ["there is a log of this session now", "it is in use, or gone already"]);
    assert!(scene.workspace.path(&format!(".robota/logs/gone.payloads/{OLD}.json")).exists());
}

#[tokio::test]
async fn sessions_that_are_open_are_left_alone() {
    let scene = untidy().await;
    let plan = plan_gc(&scene.store, &GcOptions::default()).await.unwrap();
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    let of_s = |path: &std::path::Path| path.ends_with(format!("s.payloads/{OLD}.json"));
    let report = apply_gc(&scene.store, plan).await.unwrap();
    assert!(report.kept.len() == 1 && of_s(&report.kept[0].path), "{:?}", report.kept);
    assert!(report.kept[0].reason.starts_with("session s is open in process"), "{:?}", report.kept);

    let mut all = GcOptions::default();
    all.older_than = Some(Duration::ZERO);
    let plan = plan_gc(&scene.store, &all).await.unwrap();
    assert_eq!(plan.items, []);
    assert!(plan.left_alone.iter().any(|left| left.reason.starts_with("session s is open in process")));
    drop(session);
}

#[tokio::test]
async fn old_sessions_go_as_a_whole_and_only_when_asked() {
    let scene = two_turns().await;
    let later = FixedClock::at("2026-01-03T00:00:00.000Z".parse().unwrap());
    let store = FileStore::with_clock(scene.workspace.path(".robota"), Arc::new(later));
    assert_eq!(plan_gc(&store, &GcOptions::default()).await.unwrap().items, []);
    let mut options = GcOptions::default();
    options.older_than = Some(Duration::from_hours(72));
    assert_eq!(plan_gc(&store, &options).await.unwrap().items, []);

    options.older_than = Some(Duration::from_hours(24));
    let plan = plan_gc(&store, &options).await.unwrap();
    let [item] = &plan.items[..] else { panic!("{plan:?}") };
    assert_eq!((item.kind, &item.path), (GcKind::OldSession, &store.record_path(&id("s"))));
    assert_eq!(item.reason, "nothing has happened in this session since 2026-01-01T00:00:00.000Z");
    let size = |path| fs::metadata(path).unwrap().len();
    assert_eq!(item.bytes, size(store.record_path(&id("s"))) + size(store.log_path(&id("s"))));

    // Something happens in it before the plan is carried out.
    rename(&store, &id("s"), Some("dear"), &Ambient::default(), None).await.unwrap();
    let report = apply_gc(&store, plan.clone()).await.unwrap();
    assert!(report.kept[0].reason.starts_with("something happened in it at"), "{report:?}");
    fs::remove_file(store.log_path(&id("s"))).unwrap();
    let report = apply_gc(&store, plan).await.unwrap();
    assert_eq!((report.removed.len(), report.kept), (1, Vec::new()));
    assert!(store.list().await.unwrap().sessions.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    let scene = two_turns().await;
    let outside = tempfile::tempdir().unwrap();
    let kept = outside.path().join(format!("{OLD}.json"));
    fs::copy(scene.workspace.path(".robota/logs/s.jsonl"), &kept).unwrap();
    std::os::unix::fs::symlink(outside.path(), scene.workspace.path(".robota/logs/s.payloads")).unwrap();
    std::os::unix::fs::symlink(outside.path(), scene.workspace.path(".robota/logs/gone.payloads")).unwrap();
    assert_eq!(plan_gc(&scene.store, &GcOptions::default()).await.unwrap().items, []);
    scene.store.delete(&id("s")).await.unwrap();
    assert!(kept.exists());
    assert!(fs::symlink_metadata(scene.workspace.path(".robota/logs/s.payloads")).is_err());
}

#[tokio::test]
async fn a_deleted_session_is_gone_with_its_payloads_and_an_open_one_is_not() {
    let scene = untidy().await;
    let session = Session::resume(scene.options(), &id("s")).await.unwrap();
    assert_eq!(scene.store.remove(&id("s")).await.unwrap_err().kind(), ErrorKind::Locked);
    session.shutdown("other").await.unwrap();
    let deleted = scene.store.remove(&id("s")).await.unwrap();
    let names: Vec<String> = deleted
        .files
        .iter()
        .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    let payloads = [OLD, USED, INNER].map(|hash| format!("{hash}.json"));
    let expected = [&["s.json".into(), ".writing-def".into()][..], &payloads, &["s.jsonl".into()]].concat();
    assert_eq!((names, deleted.bytes() > 0), (expected, true));
    for path in ["sessions/s.json", "sessions/s.lock", "logs/s.jsonl", "logs/s.payloads"] {
        assert!(!scene.workspace.path(&format!(".robota/{path}")).exists(), "{path}");
    }
    assert_eq!(scene.store.remove(&id("s")).await.unwrap().files, []);
}

#[tokio::test]
async fn outputs_go_with_their_session_and_without_one_they_are_left_over() {
    let scene = two_turns().await;
    let outputs = scene.store.outputs(&id("s")).unwrap();
    let orphans = scene.store.outputs(&id("gone")).unwrap();
    for folder in [&outputs, &orphans] {
        fs::create_dir_all(folder).unwrap();
        let mut file = fs::File::create_new(folder.join("c1.txt")).unwrap();
        std::io::Write::write_all(&mut file, b"whole").unwrap();
    }
    let plan = plan_gc(&scene.store, &GcOptions::default()).await.unwrap();
    let items: Vec<_> = plan.items.iter().filter(|item| item.kind == GcKind::OrphanOutputs).collect();
    assert_eq!(items.iter().map(|item| (&item.path, item.bytes)).collect::<Vec<_>>(), [(&orphans, 5)]);
    apply_gc(&scene.store, plan).await.unwrap();
    assert!(!orphans.exists() && outputs.exists());
    let deleted = scene.store.remove(&id("s")).await.unwrap();
    assert!(deleted.files.iter().any(|file| file.path == outputs.join("c1.txt")), "{deleted:?}");
    assert!(!outputs.exists());
}
