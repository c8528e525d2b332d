//! A folder of this machine alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};

use robota_tools::process::{CommandLine, Confine, ConfineError, Confined};
use robota_tools::sandbox::{
    HostSandbox, Sandbox, SandboxErrorKind, SandboxRunOptions, apply_workspace_manifest,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::place::{Place, environment};

/// Runs everything as it is and counts it.
#[derive(Debug, Default)]
struct Counting {
    seen: Mutex<u32>,
    refuses: bool,
}

impl Confine for Counting {
    fn confine(&self, mut command: CommandLine) -> Result<Confined, ConfineError> {
        if self.refuses {
            return Err(ConfineError::new("this kernel cannot"));
        }
        *self.seen.lock().unwrap() += 1;
        command.environment.push(("CONFINED".into(), "yes".into()));
        Ok(Confined::plain(command))
    }
}

#[tokio::test]
async fn commands_are_confined_whichever_way_their_output_goes() {
    let folder = tempfile::tempdir().unwrap();
    let confinement = Arc::new(Counting::default());
    let sandbox =
        HostSandbox::new(folder.path(), &environment()).unwrap().with_confinement(confinement.clone());
    for merge in [false, true] {
        let mut options = SandboxRunOptions::default();
        options.merge_output = merge;
        let result = sandbox.run("printf $CONFINED", options, None, &CancellationToken::new()).await.unwrap();
        assert_eq!(result.stdout, "yes");
    }
    assert_eq!(*confinement.seen.lock().unwrap(), 2);
    let refusing = Arc::new(Counting { refuses: true, ..Counting::default() });
    let sandbox = sandbox.with_confinement(refusing);
    for merge in [false, true] {
        let mut options = SandboxRunOptions::default();
        options.merge_output = merge;
        let ran = sandbox.run("touch ran", options, None, &CancellationToken::new()).await;
        assert_eq!(ran.unwrap_err().kind(), SandboxErrorKind::NotPermitted);
    }
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn nothing_of_this_process_reaches_a_command() {
    let place = Place::host().await;
    let names = place.run("env | cut -d= -f1 | sort").await.stdout;
    assert!(names.contains("PATH") && !names.contains("CARGO"), "{names}");
}

#[tokio::test]
async fn files_are_not_reached_through_symlinks_that_lead_out() {
    let place = Place::host().await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "secret").unwrap();
    symlink(outside.path(), place.at("out")).unwrap();
    symlink(outside.path().join("none"), place.at("dangling")).unwrap();
    for path in ["out/f", "dangling"] {
        let path = Path::new(path);
        let read = place.sandbox.read_file(path).await.unwrap_err().kind();
        let written = place.sandbox.write_file(path, b"x".to_vec()).await.unwrap_err().kind();
        assert_eq!(
            (read, written),
            (SandboxErrorKind::NotPermitted, SandboxErrorKind::NotPermitted),
            "{path:?}"
        );
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let place = Place::host().await;
    place.run("mkfifo pipe").await;
    assert_eq!(place.read_error("pipe").await, SandboxErrorKind::WrongKind);
}

#[tokio::test]
async fn a_file_larger_than_memory_is_refused() {
    let place = Place::host().await;
    let huge = fs::OpenOptions::new().create_new(true).write(true).open(place.at("huge")).unwrap();
    huge.set_len(1 << 43).unwrap();
    assert_eq!(place.read_error("huge").await, SandboxErrorKind::TooLarge);
}

#[tokio::test]
async fn snapshots_keep_modes_times_and_symlinks() {
    let place = Place::host().await;
    let command = "mkdir -m 750 d; echo x >d/run; chmod 751 d/run; touch -d 2020-01-02 d/run; ln -s run d/alias; \
                   ln -s /nowhere dangling; mkfifo pipe; mkdir -m 555 locked";
    place.run(command).await;
    let before = fs::metadata(place.at("d/run")).unwrap();
    let root = fs::metadata(place.sandbox.root()).unwrap().ino();
    let snapshots = place.sandbox.snapshots().unwrap();
    let id = snapshots.snapshot(&place.cancel).await.unwrap();
    place.run("rm -rf d dangling; echo y >other").await;
    snapshots.restore(&id, &place.cancel).await.unwrap();
    assert_eq!(place.names("").await, ["d", "dangling", "locked"]);
    let after = fs::metadata(place.at("d/run")).unwrap();
    assert_eq!((after.mode(), after.mtime()), (before.mode(), before.mtime()));
    assert_eq!(fs::metadata(place.at("d")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(place.at("d/alias")).unwrap(), Path::new("run"));
    assert_eq!(fs::read_link(place.at("dangling")).unwrap(), Path::new("/nowhere"));
    assert_eq!(fs::metadata(place.sandbox.root()).unwrap().ino(), root, "the folder stays the same one");
}

#[tokio::test]
async fn a_restoring_that_was_ended_midway_is_noticed() {
    let place = Place::host().await;
    place.write("a", "x").await;
    let snapshots = place.sandbox.snapshots().unwrap();
    let id = snapshots.snapshot(&place.cancel).await.unwrap();
    place.run("mkdir -p .robota-restore-1/old .robota-restore-1/new; mv a .robota-restore-1/old").await;
    let refused = snapshots.snapshot(&place.cancel).await.unwrap_err().to_string();
    assert!(refused.contains(".robota-restore-1/old"), "{refused}");
    snapshots.restore(&id, &place.cancel).await.unwrap();
    assert_eq!(place.names("").await, ["a"]);
    snapshots.snapshot(&place.cancel).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_snapshot_or_restore_changes_nothing() {
    let place = Place::host().await;
    place.write("a", "x").await;
    let snapshots = place.sandbox.snapshots().unwrap();
    let id = snapshots.snapshot(&place.cancel).await.unwrap();
    place.write("a", "y").await;
    place.cancel.cancel();
    let kept = snapshots.snapshot(&place.cancel).await.unwrap_err().kind();
    let restored = snapshots.restore(&id, &place.cancel).await.unwrap_err().kind();
    assert_eq!((kept, restored), (SandboxErrorKind::Cancelled, SandboxErrorKind::Cancelled));
    assert_eq!((place.names("").await, place.read("a").await), (vec!["a".into()], b"y".to_vec()));
    let folder = place.sandbox.root().parent().unwrap().join("snapshots");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[tokio::test]
async fn snapshots_lie_beside_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = HostSandbox::new(folder.path(), &[]).unwrap();
    assert!(sandbox.snapshots().is_none());
    for wrong in [folder.path().join("in"), folder.path().parent().unwrap().to_owned()] {
        let error = sandbox.clone().with_snapshots(&wrong).unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::InvalidPath);
    }
    let error = HostSandbox::new(&folder.path().join("none"), &[]).unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::WrongKind);
}

#[tokio::test]
async fn a_clone_takes_nothing_from_elsewhere_on_this_machine() {
    let place = Place::host().await;
    let outside = tempfile::tempdir().unwrap();
    let inside = place.host_root();
    symlink(outside.path(), inside.join("link")).unwrap();
    let urls = [
        format!("file://{}", outside.path().display()),
        format!("file://{}/link", inside.display()),
        format!("FILE://{}/../x", inside.display()),
        format!("file://{}/%2e%2e/x", inside.display()),
        format!("file://localhost{}", outside.path().display()),
    ];
    for url in urls {
        let manifest = Place::manifest(&json!({"entries": {"r": {"type": "gitRepo", "url": url}}}));
        let applied = apply_workspace_manifest(&place.sandbox, &manifest, &inside, &place.cancel).await;
        assert_eq!(applied.unwrap_err().kind(), SandboxErrorKind::NotPermitted, "{url}");
    }
}
