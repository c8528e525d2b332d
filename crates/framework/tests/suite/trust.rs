//! Which projects are trusted, and where that is kept.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::sync::Arc;

use robota_framework::{ProjectPaths, TrustError, TrustStore};
use robota_testkit::FixedClock;

use crate::workspace::Workspace;

fn store(paths: &ProjectPaths) -> TrustStore {
    TrustStore::new(paths, Arc::new(FixedClock::default()))
}

#[test]
fn a_decision_is_kept_for_the_real_path_of_one_root() {
    let workspace = Workspace::new(&[("repo/sub/.git", ""), ("other/x", "")]);
    let (paths, root) = (workspace.paths(), workspace.path("repo"));
    let store = store(&paths);
    assert!(!store.is_trusted(&root).unwrap());
    assert_eq!((store.trust(&root).unwrap(), store.trust(&root).unwrap()), (true, false));

    symlink(&root, workspace.path("link")).unwrap();
    assert!(store.is_trusted(&root).unwrap() && store.is_trusted(&workspace.path("link")).unwrap());
    for other in ["repo/sub", "other", ""] {
        assert!(!store.is_trusted(&workspace.path(other)).unwrap(), "{other}");
    }
    let kept = workspace.path("home/.robota/trust.json");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let list = store.list().unwrap();
    assert_eq!((list.len(), list[0].folder.as_str()), (1, root.to_str().unwrap()));

    assert_eq!((store.revoke(&root).unwrap(), store.revoke(&root).unwrap()), (true, false));
    assert!(!store.is_trusted(&root).unwrap());
}

#[test]
fn home_shared_folders_and_the_root_are_never_trusted_for_good() {
    let workspace = Workspace::new(&[("shared/x", "")]);
    let shared = workspace.path("shared");
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let store = store(&workspace.paths());
    for (folder, why) in [
        ("/".into(), "root of the file system"),
        (workspace.path("home"), "home folder"),
        (workspace.path(""), "home folder lies in it"),
        (shared, "everybody"),
    ] {
        let error = store.trust(&folder).unwrap_err();
        assert!(matches!(error, TrustError::Refused { .. }) && error.to_string().contains(why), "{error}");
    }
    // Written by hand, it does not count either.
    let home = workspace.path("home");
    let text = format!(r#"{{"version": 1, "trusted": {{{home:?}: "1970-01-01T00:00:00.000Z"}}}}"#);
    workspace.write("home/.robota/trust.json", text);
    assert!(!store.is_trusted(&home).unwrap());
}

#[test]
fn a_file_of_decisions_that_is_not_what_robota_wrote_trusts_nothing() {
    let workspace = Workspace::new(&[("home/.robota/trust.json", "{")]);
    let (paths, root) = (workspace.paths(), workspace.path("repo"));
    let store = store(&paths);
    for text in
        ["{", "", "[]", r#"{"version": 2, "trusted": {}}"#, r#"{"version": 1, "trusted": [], "x": 1}"#]
    {
        workspace.write("home/.robota/trust.json", text);
        let error = store.is_trusted(&root).unwrap_err();
        assert!(matches!(error, TrustError::Corrupt { .. }), "{text}: {error}");
        assert!(store.trust(&root).is_err() && store.list().is_err(), "{text}");
        assert_eq!(workspace.read("home/.robota/trust.json"), text);
    }
    let file = workspace.path("home/.robota/trust.json");
    workspace.write("home/.robota/trust.json", r#"{"version": 1, "trusted": {}}"#);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(store.is_trusted(&root).unwrap_err().to_string().contains("others can write"));
    std::fs::remove_file(&file).unwrap();
    symlink("/dev/null", &file).unwrap();
    assert!(store.is_trusted(&root).unwrap_err().to_string().contains("symbolic link"));
}

#[test]
fn decisions_of_another_user_trust_nothing() {
    let workspace = Workspace::new(&[]);
    let (paths, root) = (workspace.paths(), workspace.path("repo"));
    let store = store(&paths);
    store.trust(&root).unwrap();
    let file = workspace.path("home/.robota/trust.json");
    let owner = file.metadata().unwrap().uid();
    // Only the superuser can give a file away.
    if chown(&file, Some(owner + 1), None).is_ok() {
        assert!(store.is_trusted(&root).unwrap_err().to_string().contains("belongs to another user"));
    }
}

#[test]
fn a_project_cannot_bring_decisions_of_its_own() {
    let workspace = Workspace::new(&[]);
    let (root, home) = (workspace.path("repo"), workspace.path("home"));
    let text = format!(r#"{{"version": 1, "trusted": {{{root:?}: "1970-01-01T00:00:00.000Z"}}}}"#);
    workspace.write("repo/user/trust.json", text);
    let paths = ProjectPaths::detect(&root, Some(&home), Some(&root.join("user"))).unwrap();
    assert!(!store(&paths).is_trusted(&root).unwrap());
    assert!(matches!(store(&paths).trust(&root), Err(TrustError::NoPlace { .. })));
}

#[test]
fn decisions_made_at_the_same_time_are_all_kept() {
    let workspace = Workspace::new(&[]);
    let paths = workspace.paths();
    let folders: Vec<_> = (0..16).map(|number| workspace.path(&format!("p{number}"))).collect();
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    std::thread::scope(|scope| {
        for folder in &folders {
            let store = store(&paths);
            scope.spawn(move || store.trust(folder).unwrap());
        }
    });
    assert_eq!(store(&paths).list().unwrap().len(), folders.len());
}
