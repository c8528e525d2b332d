//! A tree of files like those of real projects: the same one for the same number of files.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 10] =
    ["src", "lib", "tests", "docs", "target", "node_modules", ".config", "gen", "app [x]", "a b"];
const ENDINGS: [&str; 16] = [
    ".rs", ".py", ".ts", ".tsx", ".js", ".md", ".txt", ".json", ".log", ".tmp", ".toml", ".c", ".h", "",
    ".outer", ".RS",
];
const ROOT_IGNORE: &str =
    "# comment\ntarget*/\n*.log\n!keep*.log\n/docs3/\n**/gen*/**\n*.txt \n!/*.txt\n\\#odd\n";
const FOLDER_IGNORE: &str = "*.tmp\n!*5.tmp\n/lib*/\nsrc?/*.py\nfile_[1-3]*.json\n";

/// Makes the tree below `outer` and returns the folder to search, which lies in a repository and holds another.
pub(crate) fn build(outer: &Path, files: usize) -> PathBuf {
    let root = outer.join("work");
    let mut random = Random(7);
    let folders: Vec<PathBuf> = folders(&root, files / 12 + 10);
    put(&outer.join(".gitignore"), b"*.outer\n/work/docs2/\n");
    put(&outer.join(".ignore"), b"node_modules9/\n");
    put(&root.join(".gitignore"), ROOT_IGNORE.as_bytes());
    put(&outer.join(".git/info/exclude"), b"*excluded*\n");
    put(&root.join("vendored/.git/config.rs"), b"alpha Beta gamma delta(x)\n");
    put(&root.join("vendored/kept.outer"), b"alpha Beta gamma delta(x)\n");
    for (at, folder) in folders.iter().enumerate().skip(1) {
        for (every, name, text) in [
            (7, ".gitignore", FOLDER_IGNORE),
            (11, ".ignore", "*.md\n!*2.md\n!*.log\n"),
            (29, ".rgignore", "*.json\n!file_9*.json\n!*.md\n"),
        ] {
            if at.is_multiple_of(every) {
                put(&folder.join(name), text.as_bytes());
            }
        }
        if at.is_multiple_of(40) {
            symlink("..", folder.join("up")).unwrap();
            symlink("nowhere", folder.join("dangling.rs")).unwrap();
        }
    }
    for file in 0..files {
        let folder = &folders[random.below(folders.len())];
        let path = folder.join(OsStr::from_bytes(&name(file)));
        fs::write(path, content(file, &mut random)).unwrap();
    }
    root
}

/// Four folders in each, down to where there are enough.
fn folders(root: &Path, count: usize) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    for at in 1..count {
        let name = format!("{}{at}", FOLDERS[at * 7 % 10]);
        let folder = folders[(at - 1) / 4].join(name);
        fs::create_dir_all(&folder).unwrap();
        folders.push(folder);
    }
    folders
}

fn name(file: usize) -> Vec<u8> {
    let ending = ENDINGS[file % ENDINGS.len()];
    let stem = match file {
        _ if file.is_multiple_of(401) => {
            return [b"caf\xe9_".as_slice(), file.to_string().as_bytes(), b".rs"].concat();
        }
        _ if file.is_multiple_of(37) => format!(".hidden_{file}"),
        _ if file.is_multiple_of(41) => format!("[id]_{file}"),
        _ if file.is_multiple_of(43) => format!("with space {file}"),
        _ if file.is_multiple_of(47) => format!("keep_{file}"),
        _ if file.is_multiple_of(53) => format!("excluded_{file}"),
        _ if file.is_multiple_of(59) => format!("#odd{file}"),
        _ => format!("file_{file}"),
    };
    format!("{stem}{ending}").into_bytes()
}

/// Some lines of text; now and then with CRLF, as UTF-16, long or binary.
fn content(file: usize, random: &mut Random) -> Vec<u8> {
    let lines = if file % 500 == 499 { 8_000 } else { 5 + random.below(60) };
    let end = if file.is_multiple_of(13) { "\r\n" } else { "\n" };
    let words = [("alpha", 3_usize), ("Beta", 8), ("gamma", 12), ("delta(x)", 40)];
    let mut text = String::new();
    for line in 0..lines {
        let (value, other) = (random.below(1_000), random.below(1_000));
        let _ = write!(text, "    let value_{value} = compute({other}, line_{line});{end}");
    }
    for (word, every) in words {
        if random.below(every) == 0 {
            let _ = write!(text, "fn {word} {{{end}    // é {word} again{end}}}{end}");
        }
    }
    if file.is_multiple_of(3) {
        text.truncate(text.trim_end().len());
    }
    match file {
        _ if file.is_multiple_of(97) => text.insert(text.find('\n').unwrap_or(0), '\0'),
        _ if file.is_multiple_of(101) => {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            return [0xff, 0xfe].into_iter().chain(units).collect();
        }
        _ => {}
    }
    text.into_bytes()
}

fn put(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}
