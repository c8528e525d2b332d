use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use robota_core::{Access, PathAccess};
use serde_json::json;

use crate::session::Session;

#[tokio::test]
async fn a_file_is_created_with_its_folders() {
    let session = Session::new();
    let outcome = session.call("Write", json!({"filePath": "a/b/c.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(outcome.content, "created a/b/c.txt (8 bytes, 2 lines)");
    let diff = "--- a/b/c.txt\n+++ a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n";
    assert_eq!(
        outcome.structured.unwrap(),
        json!({"type": "create", "bytes": 8, "lines": 2, "startLines": [1], "diff": diff})
    );
    assert_eq!(session.content("a/b/c.txt"), "one\ntwo\n");
    // What was just written is known, so that it can be replaced.
    let outcome = session.call("Write", json!({"filePath": "a/b/c.txt", "content": "three"})).await;
    assert_eq!(outcome.content, "replaced a/b/c.txt (5 bytes, 1 lines)");
    assert_eq!(outcome.structured.unwrap()["type"], "update");
}

#[tokio::test]
async fn only_a_known_file_is_replaced() {
    let session = Session::new();
    session.put("notes", "precious");
    let write = json!({"filePath": "notes", "content": "new"});
    let (code, text) = session.refused("Write", write.clone()).await;
    assert_eq!(
        (code, text.as_str()),
        ("not_read", "notes exists but was not read in this session; read it first")
    );
    session.ok("Read", json!({"filePath": "notes"})).await;
    session.put("notes", "precious, and changed by the user");
    assert_eq!(session.refused("Write", write.clone()).await.0, "changed_on_disk");
    assert_eq!(session.content("notes"), "precious, and changed by the user");
    session.ok("Read", json!({"filePath": "notes"})).await;
    session.ok("Write", write).await;
    assert_eq!(session.content("notes"), "new");
}

#[tokio::test]
async fn an_empty_file_has_nothing_to_lose() {
    let session = Session::new();
    session.put("empty", "");
    session.ok("Write", json!({"filePath": "empty", "content": "x"})).await;
}

#[tokio::test]
async fn links_are_followed_and_modes_kept() {
    let session = Session::new();
    let script = session.put("real/run.sh", "old");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("real/run.sh", session.path("link")).unwrap();
    symlink("real/new", session.path("dangling")).unwrap();
    session.ok("Read", json!({"filePath": "real/run.sh"})).await;
    session.ok("Write", json!({"filePath": "link", "content": "new"})).await;
    session.ok("Write", json!({"filePath": "dangling", "content": "made"})).await;
    assert_eq!((session.content("real/run.sh"), session.content("real/new")), ("new".into(), "made".into()));
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert!(session.path("link").is_symlink() && session.path("dangling").is_symlink());
}

#[tokio::test]
async fn a_failure_changes_nothing() {
    let session = Session::new();
    session.put("folder/file", "kept");
    let (code, text) = session.refused("Write", json!({"filePath": "folder", "content": "x"})).await;
    assert_eq!((code, text.as_str()), ("is_folder", "folder is a folder; list it with Glob"));
    let (_, text) = session.refused("Write", json!({"filePath": "folder/file/below", "content": "x"})).await;
    assert_eq!(text, "there is no folder/file/below: folder/file is a file, not a folder");
    for path in ["new/", "new/.", "folder/new/.."] {
        let (code, text) = session.refused("Write", json!({"filePath": path, "content": "x"})).await;
        assert_eq!((code, text), ("is_folder", format!("{path} names a folder; give the path of a file")));
    }
    let (_, text) = session.refused("Write", json!({"filePath": "n".repeat(300), "content": "x"})).await;
    assert!(text.contains("File name too long"), "{text}");
    // A folder of the kernel takes no files, not even from root.
    let (_, text) = session.refused("Write", json!({"filePath": "/proc/self/new", "content": "x"})).await;
    assert!(text.starts_with("cannot write /proc/"), "{text}");
    assert_eq!(session.content("folder/file"), "kept");
    assert_eq!(fs::read_dir(session.path("folder")).unwrap().count(), 1);
}

#[tokio::test]
async fn the_form_of_the_file_stays_and_the_same_content_is_not_written_again() {
    let session = Session::new();
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (name, old, content, new, told) in [
        ("crlf", b"a\r\nb\r\n".to_vec(), "x\ny", b"x\r\ny".to_vec(), ", CRLF line endings as before"),
        ("mixed", b"a\r\nb\n".to_vec(), "x\ny\n", b"x\ny\n".to_vec(), ""),
        (
            "mark",
            b"\xEF\xBB\xBFa\n".to_vec(),
            "b\n",
            b"\xEF\xBB\xBFb\n".to_vec(),
            ", UTF-8 with BOM as before",
        ),
        (
            "wide",
            utf16("\u{FEFF}a\r\nb\r\n"),
            "ö\nb\n",
            utf16("\u{FEFF}ö\r\nb\r\n"),
            ", CRLF line endings as before, UTF-16LE with BOM as before",
        ),
    ] {
        session.put(name, old);
        session.ok("Read", json!({"filePath": name})).await;
        let text = session.ok("Write", json!({"filePath": name, "content": content})).await;
        let (bytes, lines) = (new.len(), content.lines().count());
        assert_eq!(text, format!("replaced {name} ({bytes} bytes, {lines} lines{told})"));
        assert_eq!(fs::read(session.path(name)).unwrap(), new);
        let inode =
            |session: &Session| std::os::unix::fs::MetadataExt::ino(&session.path(name).metadata().unwrap());
        let before = inode(&session);
        let outcome = session.call("Write", json!({"filePath": name, "content": content})).await;
        assert!(outcome.content.starts_with("unchanged, as it had this content: "), "{}", outcome.content);
        assert_eq!(outcome.structured.unwrap()["diff"], "");
        assert_eq!(inode(&session), before);
    }
}

#[tokio::test]
async fn a_character_that_the_encoding_lacks_is_named_and_nothing_is_written() {
    let session = Session::new();
    let latin = b"caf\xE9 au lait, d\xE9j\xE0 vu, \xE0 la carte, gar\xE7on, fen\xEAtre\n";
    session.put("latin", latin);
    session.ok("Read", json!({"filePath": "latin"})).await;
    let (code, text) =
        session.refused("Write", json!({"filePath": "latin", "content": "café → thé\n"})).await;
    assert_eq!(code, "unencodable");
    assert!(
        text.starts_with("latin is not written: '→' (U+2192), on line 1, does not exist in windows-1252"),
        "{text}"
    );
    let edit = json!({"filePath": "latin", "oldString": "au lait", "newString": "→"});
    assert_eq!(session.refused("Edit", edit).await.0, "unencodable");
    assert_eq!(fs::read(session.path("latin")).unwrap(), latin);
}

#[tokio::test]
async fn a_link_to_outside_is_judged_as_what_it_leads_to() {
    let session = Session::new();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().canonicalize().unwrap().join("file");
    fs::write(&target, "old").unwrap();
    symlink(&target, session.path("link")).unwrap();
    for (tool, arguments) in [
        ("Write", json!({"filePath": "link", "content": "x"})),
        ("Edit", json!({"filePath": "link", "oldString": "old", "newString": "x"})),
    ] {
        let access = session.access(tool, &arguments);
        let [Access::Path { kind: PathAccess::Write, resolved, .. }] = &*access else { panic!("{access:?}") };
        assert_eq!(resolved, &target, "{tool}");
    }
}

#[tokio::test]
async fn the_other_names_of_a_file_keep_the_old_content() {
    let session = Session::new();
    session.put("store/one", "shared");
    fs::hard_link(session.path("store/one"), session.path("two")).unwrap();
    session.ok("Read", json!({"filePath": "two"})).await;
    session.ok("Write", json!({"filePath": "two", "content": "own"})).await;
    assert_eq!((session.content("store/one"), session.content("two")), ("shared".into(), "own".into()));
}

#[tokio::test]
async fn a_full_disk_leaves_the_file_as_it_was() {
    let session = Session::new();
    fs::create_dir(session.path("small")).unwrap();
    let mount = |program: &str, arguments: &[&str]| {
        let status = std::process::Command::new(program).args(arguments).arg(session.path("small")).output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        println!("skipped: no file system of 64 kB can be mounted here");
        return;
    }
    session.put("small/f", "kept\n");
    session.ok("Read", json!({"filePath": "small/f"})).await;
    let long = "x".repeat(200_000);
    let write = session.refused("Write", json!({"filePath": "small/f", "content": long})).await;
    let edit = json!({"filePath": "small/f", "oldString": "kept", "newString": long});
    let edit = session.refused("Edit", edit).await;
    let (content, count) = (session.content("small/f"), fs::read_dir(session.path("small")).unwrap().count());
    let fits =
        session.ok("Edit", json!({"filePath": "small/f", "oldString": "kept", "newString": "new"})).await;
    assert!(mount("umount", &[]));
    for (code, text) in [write, edit] {
        assert_eq!(code, "io_error");
        assert!(text.starts_with("cannot write small/f: No space left on device"), "{text}");
    }
    assert_eq!((content.as_str(), count, fits.as_str()), ("kept\n", 1, "edited small/f\n1\tnew"));
}
