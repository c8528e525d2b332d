//! What holds for every sandbox.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use robota_tools::process::Ending;
use robota_tools::sandbox::{
    OutputListener, OutputStream, SandboxEntry, SandboxErrorKind, SandboxFileKind, SandboxQuery,
    SandboxRunResult,
};

use super::over_all;
use super::place::Place;

over_all! {
    bytes_come_back_as_they_were bytes_of_any_kind_may_be_large an_empty_file_is_one folders_are_made_for_a_file
    what_is_missing_is_told_as_such a_folder_is_no_file paths_out_of_the_root_are_refused odd_names_are_names
    names_that_are_no_text a_file_is_replaced_as_a_whole stats_tell_kind_and_size lists_tell_names_and_kinds
    an_empty_folder_lists_nothing paths_are_absolute_or_relative searches_find_names_and_lines
    code_and_both_outputs_are_told outputs_may_be_merged a_signal_is_no_exit_code the_environment_is_given
    commands_run_in_their_folder a_command_runs_nowhere_else time_is_up a_call_is_cancelled
    output_is_seen_as_it_appears much_output_loses_its_middle commands_and_files_see_the_same
    a_mode_stays_when_a_file_is_replaced nothing_is_left_beside_a_file snapshots_bring_everything_back
    an_unknown_snapshot_changes_nothing symlinks_do_not_lead_out
}

const BINARY: &[u8] = &[0, 0xFF, 0xFE, b'\r', b'\n', 0, 0x80, b'-', b'-', 0x1A];

async fn bytes_come_back_as_they_were(place: &Place) {
    place.write("a.bin", BINARY).await;
    assert_eq!(place.read("a.bin").await, BINARY);
}

async fn bytes_of_any_kind_may_be_large(place: &Place) {
    let content: Vec<u8> =
        (0..8_u32 * 1024 * 1024).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    place.write("large", content.clone()).await;
    assert!(place.read("large").await == content);
}

async fn an_empty_file_is_one(place: &Place) {
    place.write("empty", "").await;
    assert_eq!(place.read("empty").await, b"");
    let stat = place.sandbox.stat(Path::new("empty")).await.unwrap();
    assert_eq!((stat.kind, stat.size), (SandboxFileKind::File, 0));
}

async fn folders_are_made_for_a_file(place: &Place) {
    place.write("a/b/c/d", "x").await;
    assert_eq!(place.names("a/b").await, ["c"]);
}

async fn what_is_missing_is_told_as_such(place: &Place) {
    assert_eq!(place.read_error("none").await, SandboxErrorKind::NotFound);
    assert_eq!(place.read_error("none/below").await, SandboxErrorKind::NotFound);
    let stat = place.sandbox.stat(Path::new("none")).await.unwrap_err();
    let list = place.sandbox.list(Path::new("none")).await.unwrap_err();
    assert_eq!((stat.kind(), list.kind()), (SandboxErrorKind::NotFound, SandboxErrorKind::NotFound));
}

async fn a_folder_is_no_file(place: &Place) {
    place.write("folder/file", "x").await;
    assert_eq!(place.read_error("folder").await, SandboxErrorKind::WrongKind);
    let written = place.sandbox.write_file(Path::new("folder"), b"x".to_vec()).await;
    assert_eq!(written.unwrap_err().kind(), SandboxErrorKind::WrongKind);
    let listed = place.sandbox.list(Path::new("folder/file")).await;
    assert_eq!(listed.unwrap_err().kind(), SandboxErrorKind::WrongKind);
    assert_eq!(place.read("folder/file").await, b"x");
    assert_eq!(place.names("").await, ["folder"]);
}

async fn paths_out_of_the_root_are_refused(place: &Place) {
    for path in ["../x", "/etc/passwd", "a/../../x", "a\0b", ""] {
        let path = if path.is_empty() { Path::new("../../../../..") } else { Path::new(path) };
        let sandbox = &place.sandbox;
        let mut options = robota_tools::sandbox::SandboxRunOptions::default();
        options.working_directory = Some(path.to_owned());
        let kinds = [
            sandbox.read_file(path).await.unwrap_err().kind(),
            sandbox.write_file(path, Vec::new()).await.unwrap_err().kind(),
            sandbox.stat(path).await.unwrap_err().kind(),
            sandbox.list(path).await.unwrap_err().kind(),
            sandbox.real_path(path).await.unwrap_err().kind(),
            sandbox.run("true", options, None, &place.cancel).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [SandboxErrorKind::InvalidPath; 6], "{path:?}");
    }
}

async fn odd_names_are_names(place: &Place) {
    let names =
        ["ünïcode 🦀", "a b", "-rf", "q'uo\"te", "$(x)`y`", "new\nline", "a?b#c&d=e%41+f", "*", ".hidden"];
    for name in names {
        place.write(name, name).await;
        assert_eq!(place.read(name).await, name.as_bytes(), "{name:?}");
        // Once more, over what is there.
        place.write(name, "other").await;
        assert_eq!(place.read(name).await, b"other", "{name:?}");
    }
    let mut expected = names.to_vec();
    expected.sort_unstable();
    assert_eq!(place.names("").await, expected);
}

async fn names_that_are_no_text(place: &Place) {
    let name = Path::new(OsStr::from_bytes(b"\xFFname"));
    let written = place.sandbox.write_file(name, b"x".to_vec()).await;
    if place.any_names {
        written.unwrap();
        assert_eq!(place.sandbox.read_file(name).await.unwrap(), b"x");
        assert_eq!(place.names("").await, [name.as_os_str()]);
    } else {
        assert_eq!(written.unwrap_err().kind(), SandboxErrorKind::InvalidPath);
    }
}

async fn a_file_is_replaced_as_a_whole(place: &Place) {
    place.write("a", "a longer one").await;
    let before = place.sandbox.stat(Path::new("a")).await.unwrap();
    place.write("a", "short").await;
    let after = place.sandbox.stat(Path::new("a")).await.unwrap();
    assert_eq!(place.read("a").await, b"short");
    assert!(before.modified != after.modified || before.size != after.size);
}

async fn stats_tell_kind_and_size(place: &Place) {
    place.write("d/f", "four").await;
    let stat = async |path: &str| {
        let stat = place.sandbox.stat(Path::new(path)).await.unwrap();
        (stat.kind, if stat.kind == SandboxFileKind::File { stat.size } else { 0 })
    };
    assert_eq!(stat("d/f").await, (SandboxFileKind::File, 4));
    assert_eq!(stat("d").await, (SandboxFileKind::Folder, 0));
    assert_eq!(stat("").await, (SandboxFileKind::Folder, 0));
}

async fn lists_tell_names_and_kinds(place: &Place) {
    for name in ["b", "a/x", "a/y/z"] {
        place.write(name, "").await;
    }
    let mut listed = place.sandbox.list(Path::new("")).await.unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(
        listed,
        [SandboxEntry::new("a", SandboxFileKind::Folder), SandboxEntry::new("b", SandboxFileKind::File)]
    );
    assert_eq!(place.names("a").await, ["x", "y"]);
}

async fn an_empty_folder_lists_nothing(place: &Place) {
    assert!(place.names("").await.is_empty());
}

async fn paths_are_absolute_or_relative(place: &Place) {
    place.write("a/b", "x").await;
    let absolute = place.at("a/./c/../b");
    assert_eq!(place.sandbox.read_file(&absolute).await.unwrap(), b"x");
    assert_eq!(place.sandbox.real_path(&absolute).await.unwrap(), place.at("a/b"));
    assert_eq!(place.sandbox.real_path(Path::new("not/there")).await.unwrap(), place.at("not/there"));
}

async fn searches_find_names_and_lines(place: &Place) {
    for (name, content) in
        [("src/a.rs", "one\ntwo tw\n"), ("src/b.txt", "two"), (".git/c.rs", "two"), ("d.rs", "\0two")]
    {
        place.write(name, content).await;
    }
    let mut query = SandboxQuery::default();
    query.name = Some("**/*.rs".into());
    let found = place.sandbox.search(&query, &place.cancel).await.unwrap();
    let paths: Vec<_> = found.iter().map(|hit| hit.path.clone()).collect();
    assert_eq!(paths, [place.at("d.rs"), place.at("src/a.rs")]);
    query.content = Some("^t(w|o)+ ".into());
    let found = place.sandbox.search(&query, &place.cancel).await.unwrap();
    let lines: Vec<_> = found.iter().map(|hit| (hit.path.clone(), hit.line.clone().unwrap())).collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].0.clone(), lines[0].1.number, lines[0].1.text.as_str()),
        (place.at("src/a.rs"), 2, "two tw")
    );
    query.content = Some("^$".into());
    assert_eq!(place.sandbox.search(&query, &place.cancel).await.unwrap(), []);
}

async fn code_and_both_outputs_are_told(place: &Place) {
    let result = place.run("printf out; printf err >&2; exit 3").await;
    if place.runs {
        assert_eq!(result, SandboxRunResult::exited(3).with_stdout("out").with_stderr("err"));
    } else {
        assert_eq!(result, SandboxRunResult::exited(0));
    }
}

async fn outputs_may_be_merged(place: &Place) {
    if !place.runs {
        return;
    }
    let command = "for n in 1 2 3; do echo out$n; echo err$n >&2; done";
    let result = place.run_with(command, |options| options.merge_output = true, None).await.unwrap();
    assert_eq!(result, SandboxRunResult::exited(0).with_stdout("out1\nerr1\nout2\nerr2\nout3\nerr3\n"));
}

async fn a_signal_is_no_exit_code(place: &Place) {
    if !place.runs {
        return;
    }
    let result = place.run("kill -9 $$").await;
    assert_eq!((result.exit_code(), result.ending), (None, Ending::Signalled(9)));
}

async fn the_environment_is_given(place: &Place) {
    if !place.runs {
        return;
    }
    let adjust = |options: &mut robota_tools::sandbox::SandboxRunOptions| {
        options.environment.insert("A".to_owned(), "one 'two' $three".to_owned());
    };
    let result = place.run_with("printf %s \"$A\"", adjust, None).await.unwrap();
    assert_eq!(result.stdout, "one 'two' $three");
}

async fn commands_run_in_their_folder(place: &Place) {
    if !place.runs {
        return;
    }
    place.write("a b/file", "x").await;
    assert_eq!(place.run("pwd").await.stdout, format!("{}\n", place.sandbox.root().display()));
    let there = |options: &mut robota_tools::sandbox::SandboxRunOptions| {
        options.working_directory = Some("a b".into());
    };
    assert_eq!(place.run_with("cat file", there, None).await.unwrap().stdout, "x");
}

async fn a_command_runs_nowhere_else(place: &Place) {
    let nowhere = |options: &mut robota_tools::sandbox::SandboxRunOptions| {
        options.working_directory = Some("none".into());
    };
    assert!(place.run_with("true", nowhere, None).await.is_err());
}

async fn time_is_up(place: &Place) {
    if !place.runs {
        return;
    }
    let short =
        |options: &mut robota_tools::sandbox::SandboxRunOptions| options.timeout = Duration::from_millis(300);
    // What it started is ended with it.
    let result = place.run_with("echo before; sleep 1000 & echo $! >pid; wait", short, None).await.unwrap();
    assert_eq!(
        (result.ending, result.exit_code(), result.stdout.as_str()),
        (Ending::TimedOut, None, "before\n")
    );
    let pid = String::from_utf8(place.read("pid").await).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(state.is_err() || state.unwrap().contains(") Z "), "the child of the command lives on");
}

async fn a_call_is_cancelled(place: &Place) {
    if !place.runs {
        place.cancel.cancel();
        assert_eq!(place.run("true").await.ending, Ending::Cancelled);
        return;
    }
    let cancel = place.cancel.clone();
    let listener: OutputListener = Arc::new(move |_, _| cancel.cancel());
    let result = place.run_with("echo ready; sleep 1000", |_| {}, Some(listener)).await.unwrap();
    assert_eq!((result.ending, result.stdout.as_str()), (Ending::Cancelled, "ready\n"));
}

async fn output_is_seen_as_it_appears(place: &Place) {
    if !place.runs {
        return;
    }
    let seen = Arc::new(Mutex::new((String::new(), String::new())));
    let (told, gate) = (Arc::clone(&seen), place.at("gate"));
    // The command waits for what its own first output causes.
    let listener: OutputListener = Arc::new(move |stream, text| {
        let mut told = told.lock().unwrap();
        if stream == OutputStream::Stderr {
            told.1.push_str(text);
        } else {
            told.0.push_str(text);
        }
        if told.0.contains("first") {
            std::fs::write(&gate, "").unwrap();
        }
    });
    let command =
        "printf 'first €'; until [ -e gate ]; do sleep 0.02; done; printf ' second'; printf err >&2";
    let result = place.run_with(command, |_| {}, Some(listener)).await.unwrap();
    assert_eq!(result, SandboxRunResult::exited(0).with_stdout("first € second").with_stderr("err"));
    assert_eq!(*seen.lock().unwrap(), ("first € second".to_owned(), "err".to_owned()));
}

async fn much_output_loses_its_middle(place: &Place) {
    if !place.runs {
        return;
    }
    let few = |options: &mut robota_tools::sandbox::SandboxRunOptions| options.output_limit = 100;
    let result = place.run_with("echo begin; seq 100000; echo end", few, None).await.unwrap();
    let note = format!("\n[... {} bytes left out here ...]\n", result.omitted_bytes);
    assert!(result.stdout.starts_with("begin\n1\n") && result.stdout.ends_with("100000\nend\n"));
    assert!(result.stdout.contains(&note) && result.stdout.len() < 200, "{}", result.stdout);
}

async fn commands_and_files_see_the_same(place: &Place) {
    if !place.runs {
        return;
    }
    place.write("in", "text").await;
    assert_eq!(place.run("tr a-z A-Z <in >out").await.exit_code(), Some(0));
    assert_eq!(place.read("out").await, b"TEXT");
}

async fn a_mode_stays_when_a_file_is_replaced(place: &Place) {
    if !place.runs {
        return;
    }
    place.write("run.sh", "echo one").await;
    place.run("chmod 751 run.sh").await;
    place.write("run.sh", "echo two").await;
    assert_eq!(place.run("./run.sh; stat -c %a run.sh").await.stdout, "two\n751\n");
}

async fn nothing_is_left_beside_a_file(place: &Place) {
    place.write("a/f", "one").await;
    place.write("a/f", "two").await;
    assert_eq!(place.names("a").await, ["f"]);
}

async fn snapshots_bring_everything_back(place: &Place) {
    place.write("kept/a", BINARY).await;
    place.write("changed", "before").await;
    let snapshots = place.sandbox.snapshots().unwrap();
    let id = snapshots.snapshot(&place.cancel).await.unwrap();
    place.write("changed", "after").await;
    place.write("new/b", "x").await;
    let other = snapshots.snapshot(&place.cancel).await.unwrap();
    assert_ne!(id, other);
    snapshots.restore(&id, &place.cancel).await.unwrap();
    assert_eq!(place.names("").await, ["changed", "kept"]);
    assert_eq!(
        (place.read("kept/a").await, place.read("changed").await),
        (BINARY.to_vec(), b"before".to_vec())
    );
    snapshots.restore(&other, &place.cancel).await.unwrap();
    assert_eq!((place.read("new/b").await, place.read("changed").await), (b"x".to_vec(), b"after".to_vec()));
}

async fn an_unknown_snapshot_changes_nothing(place: &Place) {
    place.write("a", "x").await;
    for id in ["snapshot-99", "../x", "", "no:such", "snapshot-../../x"] {
        let error = place.sandbox.snapshots().unwrap().restore(id, &place.cancel).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::NotFound, "{id:?}: {error}");
    }
    assert_eq!(place.read("a").await, b"x");
}

async fn symlinks_do_not_lead_out(place: &Place) {
    if !place.runs {
        return;
    }
    place.write("real/file", "inside").await;
    place.run("ln -s real inside; ln -s file real/alias; ln -s /etc outside; ln -s / real/top").await;
    assert_eq!(place.read("inside/alias").await, b"inside");
    assert_eq!(place.sandbox.real_path(Path::new("inside/alias")).await.unwrap(), place.at("real/file"));
    place.write("inside/alias", "changed").await;
    assert_eq!(place.read("real/file").await, b"changed");
    assert_eq!(place.run("readlink real/alias").await.stdout, "file\n");
    for path in ["outside/passwd", "real/top/etc/passwd"] {
        let error = place.sandbox.real_path(Path::new(path)).await.unwrap_err();
        assert_eq!(error.kind(), SandboxErrorKind::NotPermitted, "{path}");
    }
    let listed = place.sandbox.list(Path::new("real")).await.unwrap();
    let links = listed.iter().filter(|entry| entry.kind == SandboxFileKind::Symlink).count();
    assert_eq!(links, 2, "{listed:?}");
}
