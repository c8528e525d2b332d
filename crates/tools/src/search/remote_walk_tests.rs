//! Searches through a sandbox find what they find in a local copy.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use robota_core::{DynTool, ToolContext, ToolOutcome, erase};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Glob, Grep};
use crate::files::{Kind, Remote, Stat};
use crate::workspace::{Workspace, resolve_links};

/// A copy of a folder in memory.
#[derive(Debug, Default)]
struct InMemory {
    things: BTreeMap<PathBuf, (Stat, Vec<u8>)>,
    /// Folders that cannot be listed.
    closed: Vec<PathBuf>,
    /// Fires at the so many-th reading.
    stop: Option<(usize, CancellationToken)>,
    readings: AtomicUsize,
}

impl InMemory {
    fn copy(root: &Path) -> Self {
        let mut copy = Self::default();
        for folder in root.ancestors() {
            copy.add(folder);
        }
        let mut pending = vec![root.to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if copy.add(&path) == Kind::Folder {
                    pending.push(path);
                }
            }
        }
        copy
    }

    fn add(&mut self, path: &Path) -> Kind {
        let stat = Stat::from(&fs::symlink_metadata(path).unwrap());
        let text = if stat.kind == Kind::File { fs::read(path).unwrap() } else { Vec::new() };
        self.things.insert(path.to_owned(), (stat, text));
        stat.kind
    }

    fn find(&self, path: &Path) -> io::Result<&(Stat, Vec<u8>)> {
        self.things.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Remote for InMemory {
    fn look(&self, path: &Path) -> io::Result<Stat> {
        Ok(self.find(path)?.0)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let reading = self.readings.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some((at, stop)) = &self.stop
            && *at == reading
        {
            stop.cancel();
        }
        match self.find(path)? {
            (stat, text) if stat.kind == Kind::File => Ok(text.clone()),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn replace(&self, _: &Path, _: &[u8]) -> io::Result<Stat> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(OsString, Kind)>> {
        if self.find(folder)?.0.kind != Kind::Folder || self.closed.iter().any(|closed| closed == folder) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let inside = self.things.iter().filter(|(path, _)| path.parent() == Some(folder));
        let named = inside.map(|(path, (stat, _))| (path.file_name().map(OsStr::to_owned), stat.kind));
        Ok(named.filter_map(|(name, kind)| Some((name?, kind))).collect())
    }
}

fn put(root: &Path, name: &str, text: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().create_new(true).write(true).open(path).unwrap();
    file.write_all(text).unwrap();
}

/// A folder in a repository with ignore files of every kind and rank.
fn project() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let base = resolve_links(temp.path());
    let root = base.join("repository/work");
    for (name, text) in [
        (".gitignore", "*.beyond\n"),
        (".ignore", "*.above\n"),
        ("repository/.git/info/exclude", "*.excluded\n!c.tmp\n"),
        ("repository/.gitignore", "\u{feff}*.log\r\n/work/anchored.txt\n[broken\n"),
        ("repository/work/.gitignore", "target/\n!keep.log\n*.tmp\n"),
        ("repository/work/.rgignore", "*.rg\n!b.tmp\n"),
        ("repository/work/sub/.gitignore", "!c.tmp\n/only.txt\n"),
        ("repository/work/sub/.ignore", "d.txt\n"),
        ("repository/work/inner/.git/config", "hit\n"),
    ] {
        put(&base, name, text.as_bytes());
    }
    let names = [
        "a.rs",
        "a.beyond",
        "a.above",
        "a.excluded",
        "a.log",
        "keep.log",
        "anchored.txt",
        "sub/anchored.txt",
        "a.tmp",
        "b.tmp",
        "c.tmp",
        "sub/c.tmp",
        "sub/only.txt",
        "sub/deep/only.txt",
        "sub/d.txt",
        "a.rg",
        "target/x.rs",
        "sub/target/y.rs",
        ".hidden/z.rs",
        "inner/a.log",
        "inner/a.tmp",
        "inner/a.above",
        "deny/s.rs",
        "sub/e.py",
        "odd [name].rs",
        "sub/\u{e9} x.ts",
        "inner/deeper/and/deeper/still.rs",
    ];
    for (at, name) in names.iter().enumerate() {
        put(&root, name, format!("first\nhit {at}\nlast\n").as_bytes());
    }
    put(&root, "wide.txt", &"\u{feff}hit\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    put(&root, "binary.bin", b"hit\n\0\n");
    put(&root, "long.txt", &[b"x\n".repeat(100_000).as_slice(), b"hit at the end\n"].concat());
    symlink("..", root.join("sub/up")).unwrap();
    symlink("a.rs", root.join("alias.rs")).unwrap();
    (temp, root)
}

/// Glob and Grep over a workspace in which `deny` is not to be read.
fn tools(workspace: Workspace) -> [Arc<dyn DynTool>; 2] {
    let denied = workspace.root().join("deny");
    let workspace = workspace.leaving_out(Some(Arc::new(move |path| path.starts_with(&denied))));
    [erase(Glob { workspace: workspace.clone() }), erase(Grep { workspace })]
}

async fn call(tool: &Arc<dyn DynTool>, arguments: &Value, stop: CancellationToken) -> ToolOutcome {
    let call = tool.prepare(&arguments.to_string()).unwrap();
    call.run(ToolContext::new("call", stop)).await.unwrap()
}

#[tokio::test]
async fn both_searches_find_through_a_sandbox_what_they_find_here() {
    let (_temp, root) = project();
    let copy: Arc<dyn Remote> = Arc::new(InMemory::copy(root.ancestors().nth(2).unwrap()));
    let here = tools(Workspace::new(&root, [], None));
    let there = tools(Workspace::elsewhere(&root, copy));
    let globs = [
        json!({"pattern": "**"}),
        json!({"pattern": "**", "noIgnore": true}),
        json!({"pattern": "*"}),
        json!({"pattern": "*/*.{rs,txt}"}),
        json!({"pattern": "odd [name].rs"}),
        json!({"pattern": "target/**"}),
        json!({"pattern": "**", "path": "inner"}),
        json!({"pattern": "**", "limit": 3, "offset": 2}),
        json!({"pattern": "nothing*"}),
        json!({"pattern": "*", "path": "a.rs"}),
        json!({"pattern": "*", "path": "nowhere"}),
    ];
    let greps = [
        json!({"pattern": "hit"}),
        json!({"pattern": "hit", "noIgnore": true}),
        json!({"pattern": "hit", "glob": "*.rs"}),
        json!({"pattern": "hit", "glob": "*.log !inner/**"}),
        json!({"pattern": "hit", "glob": "!sub"}),
        json!({"pattern": "hit", "type": "rust,py"}),
        json!({"pattern": "hit", "type": "!rust", "glob": "!*.txt"}),
        json!({"pattern": "HIT \\d", "-i": true, "outputMode": "content", "-C": 1}),
        json!({"pattern": "hit.*?last", "multiline": true, "outputMode": "count"}),
        json!({"pattern": "hit", "path": "sub", "headLimit": 2, "offset": 1}),
        json!({"pattern": "hit", "path": "target/x.rs"}),
        json!({"pattern": "hit", "path": "binary.bin", "outputMode": "content"}),
        json!({"pattern": "hit", "path": "deny"}),
        json!({"pattern": "absent"}),
    ];
    for (at, arguments) in globs.iter().map(|arguments| (0, arguments)).chain(greps.iter().map(|a| (1, a))) {
        let expected = call(&here[at], arguments, CancellationToken::new()).await;
        let found = call(&there[at], arguments, CancellationToken::new()).await;
        assert_eq!(found.content, expected.content, "{arguments}");
        assert_eq!(found.structured, expected.structured, "{arguments}");
        assert_eq!(found.error_code, expected.error_code, "{arguments}");
    }
    let found = call(&there[1], &json!({"pattern": "hit"}), CancellationToken::new()).await.content;
    let expected = ".hidden/z.rs\na.beyond\na.rs\nb.tmp\ninner/a.log\ninner/a.tmp\n\
                    inner/deeper/and/deeper/still.rs\nkeep.log\nlong.txt\nodd [name].rs\nsub/anchored.txt\nsub/c.tmp\n\
                    sub/deep/only.txt\nsub/e.py\nsub/\u{e9} x.ts\nwide.txt\n\
                    [1 file or folder left out: permission rules deny reading it]";
    assert_eq!(found, expected);
}

#[tokio::test]
async fn what_cannot_be_listed_is_counted_and_a_stop_is_obeyed() {
    let (_temp, root) = project();
    let stop = CancellationToken::new();
    let mut copy = InMemory::copy(&root);
    copy.closed.push(root.join("inner"));
    let [glob, grep] = tools(Workspace::elsewhere(&root, Arc::new(copy)));
    let found = call(&glob, &json!({"pattern": "inner/**"}), stop.clone()).await;
    assert_eq!(found.content, "no files match inner/**\n[1 folders or files could not be read]");
    let found = call(&grep, &json!({"pattern": "absent", "type": "rust"}), stop).await;
    assert!(found.content.contains("[1 folders or files could not be searched]"), "{}", found.content);

    let stop = CancellationToken::new();
    let mut copy = InMemory::copy(&root);
    copy.stop = Some((12, stop.clone()));
    let copy = Arc::new(copy);
    let [_, grep] = tools(Workspace::elsewhere(&root, Arc::clone(&copy) as Arc<dyn Remote>));
    let found = call(&grep, &json!({"pattern": "hit", "noIgnore": true}), stop).await;
    assert_eq!(found.error_code, Some("cancelled"));
    assert!(copy.readings.load(Ordering::Relaxed) <= 12 + 8, "{copy:?}");
}
