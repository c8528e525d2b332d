//! Manifests, over every sandbox.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use robota_tools::sandbox::{
    AppliedManifest, SandboxError, SandboxErrorKind, apply_workspace_manifest, govern,
};
use serde_json::{Value, json};

use super::over_all;
use super::place::Place;

over_all! {
    every_kind_is_applied_and_told a_repository_is_cloned_without_its_hooks
    what_fails_leaves_nothing what_is_there_is_not_overwritten a_folder_that_is_there_is_filled
    paths_that_lead_elsewhere_are_refused sources_stay_in_the_folder_of_the_host copied_symlinks_stay_inside
    the_environment_holds_for_every_command permissions_bound_what_files_are_reached
    a_cancelled_one_leaves_nothing
}

async fn apply(place: &Place, manifest: &Value) -> Result<AppliedManifest, SandboxError> {
    let manifest = Place::manifest(manifest);
    apply_workspace_manifest(&place.sandbox, &manifest, &place.host_root(), &place.cancel).await
}

async fn every_kind_is_applied_and_told(place: &Place) {
    place.put_on_host("tool.bin", &[0, 255, 10]);
    let script = place.put_on_host("tree/bin/run", b"#!/bin/sh\necho ran");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    place.put_on_host("tree/deep/er/x", b"");
    std::fs::create_dir(place.host_root().join("tree/empty")).unwrap();
    let applied = apply(
        place,
        &json!({"entries": {
            "a/inline": {"type": "file", "content": "ünï"},
            "b": {"type": "file", "content": "AP8K", "encoding": "base64"},
            "c/d": {"type": "dir"},
            r"c\d\e": {"type": "localFile", "src": "tool.bin"},
            "t": {"type": "localDir", "src": "./tree"},
            "t/more": {"type": "file", "content": "m"},
            "s3": {"type": "s3Mount", "bucket": "b", "region": "r"},
            "gcs": {"type": "gcsMount", "bucket": "b"},
            "r2": {"type": "r2Mount", "bucket": "b", "accountId": "a"},
            "az": {"type": "azureBlobMount", "container": "c", "account": "a"},
        }}),
    )
    .await
    .unwrap();
    let told = serde_json::to_value(&applied.report).unwrap();
    let no = "this sandbox cannot mount buckets; nothing was made at the path";
    let mount =
        |path: &str, kind: &str| json!({"path": path, "type": kind, "status": "unsupported", "message": no});
    let made = |path: &str, kind: &str| json!({"path": path, "type": kind, "status": "applied"});
    let expected = json!({"entries": [
        made("a/inline", "file"), mount("az", "azureBlobMount"), made("b", "file"), made("c/d", "dir"),
        made("c/d/e", "localFile"), mount("gcs", "gcsMount"), mount("r2", "r2Mount"), mount("s3", "s3Mount"),
        made("t", "localDir"), made("t/more", "file"),
    ]});
    assert_eq!(told, expected);
    assert_eq!(place.names("").await, ["a", "b", "c", "t"]);
    assert_eq!(place.read("a/inline").await, "ünï".as_bytes());
    assert_eq!((place.read("b").await, place.read("c/d/e").await), (vec![0, 255, 10], vec![0, 255, 10]));
    assert_eq!(place.names("t").await, ["bin", "deep", "empty", "more"]);
    assert!(place.names("t/empty").await.is_empty() && place.exists("t/deep/er/x").await);
    if place.runs {
        assert_eq!(place.run("t/bin/run; [ -x b ]").await.stdout, "ran\n");
    }
}

async fn a_repository_is_cloned_without_its_hooks(place: &Place) {
    let made = std::process::Command::new("sh")
        .current_dir(place.host_root())
        .args(["-c", "git init -q -b main r && cd r && git config user.email a@b && git config user.name n && \
            echo one >f && git add f && git commit -qm one && git tag v1 && echo two >f && git commit -qam two"])
        .status();
    assert!(made.unwrap().success(), "git makes a repository");
    let url = format!("file://{}/r", place.host_root().display());
    let applied = apply(
        place,
        &json!({"entries": {
            "in/repo": {"type": "gitRepo", "url": url},
            "in/repo/.env": {"type": "file", "content": "A=1"},
            "old": {"type": "gitRepo", "url": url, "ref": "v1", "shallow": false},
        }}),
    )
    .await;
    if !place.runs {
        let told = serde_json::to_value(applied.unwrap().report).unwrap();
        let statuses: Vec<_> =
            told["entries"].as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
        assert_eq!(statuses, ["unsupported", "applied", "unsupported"]);
        assert_eq!(
            (place.names("").await, place.names("in/repo").await),
            (vec!["in".into()], vec![".env".into()])
        );
        return;
    }
    applied.unwrap();
    assert_eq!(
        (place.read("in/repo/f").await, place.read("old/f").await),
        (b"two\n".to_vec(), b"one\n".to_vec())
    );
    let command = "git -C in/repo rev-list --count HEAD; ls in/repo/.git/hooks 2>/dev/null; cat in/repo/.env";
    assert_eq!(place.run(command).await.stdout, "1\nA=1");

    let wrong = json!({"entries": {
        "x/y": {"type": "file", "content": ""},
        "w": {"type": "gitRepo", "url": format!("{url}-none")},
    }});
    let error = apply(place, &wrong).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot clone file://"), "{error}");
    assert_eq!(place.names("").await, ["in", "old"]);
    let over = json!({"entries": {
        "n": {"type": "gitRepo", "url": url},
        "n/f": {"type": "file", "content": ""},
    }});
    assert_eq!(apply(place, &over).await.unwrap_err().kind(), SandboxErrorKind::AlreadyExists);
    assert_eq!(place.names("").await, ["in", "old"]);
}

async fn what_fails_leaves_nothing(place: &Place) {
    place.write("there/file", "x").await;
    // Seen before anything is made.
    let missing = json!({"entries": {
        "a": {"type": "file", "content": ""},
        "z": {"type": "localFile", "src": "none"},
    }});
    let error = apply(place, &missing).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::NotFound, "{error}");
    assert!(error.to_string().starts_with("entries.\"z\": cannot read the source "), "{error}");
    // Seen only when it is made: a file stands on the way.
    let blocked = json!({"entries": {
        "a/b": {"type": "dir"},
        "there/new": {"type": "file", "content": ""},
        "there/file/below": {"type": "file", "content": ""},
    }});
    apply(place, &blocked).await.unwrap_err();
    assert_eq!(
        (place.names("").await, place.names("there").await),
        (vec!["there".into()], vec!["file".into()])
    );
}

async fn what_is_there_is_not_overwritten(place: &Place) {
    place.write("a", "kept").await;
    place.write("d/x", "kept").await;
    place.put_on_host("src/f", b"other");
    for entry in [
        json!({"a": {"type": "file", "content": "other"}}),
        json!({"d": {"type": "localDir", "src": "src"}}),
        json!({"d": {"type": "file", "content": ""}}),
    ] {
        let error = apply(place, &json!({"entries": entry})).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::AlreadyExists, "{entry}: {error}");
    }
    assert_eq!((place.read("a").await, place.names("d").await), (b"kept".to_vec(), vec!["x".into()]));
}

async fn a_folder_that_is_there_is_filled(place: &Place) {
    place.write("d/x", "kept").await;
    let more = json!({"entries": {"d": {"type": "dir"}, "d/y": {"type": "file", "content": ""}}});
    apply(place, &more).await.unwrap();
    assert_eq!(place.names("d").await, ["x", "y"]);
}

async fn paths_that_lead_elsewhere_are_refused(place: &Place) {
    for path in ["", ".", "/a", "../a", "a/../../b", r"..\a", "a\0", "./."] {
        let error = apply(place, &json!({"entries": {path: {"type": "dir"}}})).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::InvalidManifest, "{path:?}: {error}");
    }
    let twice = json!({"entries": {"a": {"type": "dir"}, "./a/": {"type": "dir"}}});
    let below = json!({"entries": {"a": {"type": "file", "content": ""}, "a/b": {"type": "dir"}}});
    let base64 = json!({"entries": {"a": {"type": "file", "content": "§", "encoding": "base64"}}});
    for wrong in [twice, below, base64] {
        let error = apply(place, &wrong).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::InvalidManifest, "{wrong}: {error}");
    }
    assert!(place.names("").await.is_empty());
}

async fn sources_stay_in_the_folder_of_the_host(place: &Place) {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    place.put_on_host("dir/f", b"");
    symlink(outside.path(), place.host_root().join("out")).unwrap();
    symlink(outside.path().join("secret"), place.host_root().join("alias")).unwrap();
    symlink("dir", place.host_root().join("link")).unwrap();
    let absolute = outside.path().join("secret");
    for src in ["../x", "/etc/passwd", absolute.to_str().unwrap(), "out/secret", "alias", "link/f", "a\0", ""]
    {
        let error =
            apply(place, &json!({"entries": {"x": {"type": "localFile", "src": src}}})).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::NotPermitted, "{src:?}: {error}");
    }
    for src in ["out", "link", "..", "/"] {
        let error =
            apply(place, &json!({"entries": {"x": {"type": "localDir", "src": src}}})).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::NotPermitted, "{src:?}: {error}");
    }
    let inside = place.host_root().join("dir/f");
    apply(place, &json!({"entries": {"x": {"type": "localFile", "src": inside}}})).await.unwrap();
    assert_eq!(place.names("").await, ["x"]);
}

async fn copied_symlinks_stay_inside(place: &Place) {
    place.put_on_host("tree/sub/f", b"content");
    symlink("sub/f", place.host_root().join("tree/alias")).unwrap();
    symlink("../sub", place.host_root().join("tree/sub/back")).unwrap();
    let entries = json!({"entries": {"t": {"type": "localDir", "src": "tree"}}});
    let applied = apply(place, &entries).await;
    if place.runs {
        applied.unwrap();
        assert_eq!(
            place.run("readlink t/alias t/sub/back; cat t/alias").await.stdout,
            "sub/f\n../sub\ncontent"
        );
        place.run("rm -rf t").await;
    } else {
        assert_eq!(applied.unwrap_err().kind(), SandboxErrorKind::Unsupported);
    }
    symlink("../../etc/passwd", place.host_root().join("tree/sub/out")).unwrap();
    let error = apply(place, &entries).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::NotPermitted, "{error}");
    assert!(place.names("").await.is_empty());
}

async fn the_environment_holds_for_every_command(place: &Place) {
    let manifest = json!({"environment": {"A": "of all", "B": "b"}});
    let applied = apply(place, &manifest).await.unwrap();
    if place.runs {
        let mut options = robota_tools::sandbox::SandboxRunOptions::default();
        options.environment.insert("B".to_owned(), "of this one".to_owned());
        let result = applied.sandbox.run("printf \"$A, $B\"", options, None, &place.cancel).await.unwrap();
        assert_eq!(result.stdout, "of all, of this one");
    }
    for name in ["", "A=B", "1A", "A B"] {
        let error = apply(place, &json!({"environment": {name: "x"}})).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::InvalidManifest, "{name:?}");
    }
}

async fn permissions_bound_what_files_are_reached(place: &Place) {
    place.write("secret/key", "k").await;
    place.write("src/deep/f", "f").await;
    place.write("src2", "not below src").await;
    let manifest = json!({"permissions": {"read": ["src", "out"], "write": ["out"]}});
    let applied = apply(place, &manifest).await.unwrap();
    assert_eq!(applied.report.notes.len(), 1);
    let again = govern(&place.sandbox, &Place::manifest(&manifest)).unwrap();
    for sandbox in [applied.sandbox, again] {
        let kind = async |path: &str| sandbox.read_file(Path::new(path)).await.map_err(|error| error.kind());
        assert_eq!(kind("src/deep/f").await.unwrap(), b"f");
        let refused = Err(SandboxErrorKind::NotPermitted);
        assert_eq!(
            [kind("secret/key").await, kind("src2").await, kind("none").await],
            [refused; 3].map(|r| r.map(|()| vec![]))
        );
        sandbox.write_file(Path::new("out/new"), b"n".to_vec()).await.unwrap();
        let written = sandbox.write_file(Path::new("src/deep/f"), b"x".to_vec()).await;
        assert_eq!(written.unwrap_err().kind(), SandboxErrorKind::NotPermitted);
        let listed = sandbox.list(Path::new("")).await.unwrap();
        let mut names: Vec<_> = listed.into_iter().map(|entry| entry.name).collect();
        names.sort();
        assert_eq!(names, ["out", "src"]);
        assert!(sandbox.list(Path::new("secret")).await.is_err());
        assert!(sandbox.stat(Path::new("secret/key")).await.is_err());
    }
    if place.runs {
        place.run("ln -s ../secret/key src/alias; ln -s ../secret out/way").await;
        let sandbox = govern(&place.sandbox, &Place::manifest(&manifest)).unwrap();
        let read = sandbox.read_file(Path::new("src/alias")).await.unwrap_err();
        let write = sandbox.write_file(Path::new("out/way/x"), Vec::new()).await.unwrap_err();
        assert_eq!(
            (read.kind(), write.kind()),
            (SandboxErrorKind::NotPermitted, SandboxErrorKind::NotPermitted)
        );
    }
    let nothing = govern(&place.sandbox, &Place::manifest(&json!({"permissions": {"read": []}}))).unwrap();
    assert!(nothing.read_file(Path::new("src/deep/f")).await.is_err());
    let bad = json!({"permissions": {"read": ["../x"]}});
    assert!(govern(&Arc::clone(&place.sandbox), &Place::manifest(&bad)).is_err());
}

async fn a_cancelled_one_leaves_nothing(place: &Place) {
    place.cancel.cancel();
    let error = apply(place, &json!({"entries": {"a": {"type": "file", "content": ""}}})).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::Cancelled);
    assert!(place.names("").await.is_empty());
}
