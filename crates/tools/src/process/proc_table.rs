//! The processes of the machine, as `/proc` lists them.

use std::fs::{self, File};
use std::io::Read;

/// The most of an environment or list of limits that is looked at, in bytes.
const MOST: u64 = 4 * 1024 * 1024;

/// A process at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// It runs no more and waits to be collected.
    pub(super) ended: bool,
    /// When it began, in clock ticks since the machine did. With the id it names one process for ever.
    pub(super) started: u64,
}

/// All processes; `None` where the system has no such list.
pub(super) fn processes() -> Option<Vec<Process>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found: Vec<_> = ids.filter_map(process).collect();
    (!found.is_empty()).then_some(found)
}

/// The process `id`, as long as it was not collected.
pub(super) fn process(id: i32) -> Option<Process> {
    // The name in parentheses may hold anything, bytes that are no text included.
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    let behind_name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(stat.get(behind_name + 1..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process { id, parent, group, session, ended, started })
}

/// The value of the variable `name` in the environment that the program of `id` was started with.
pub(super) fn variable(id: i32, name: &str) -> Option<Vec<u8>> {
    let mut environment = Vec::new();
    let file = File::open(format!("/proc/{id}/environ")).ok()?;
    file.take(MOST).read_to_end(&mut environment).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value =
        |variable: &[u8]| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    variables.find_map(value)
}

/// The soft limit of `id` whose line in the list of limits begins with `name`.
pub(super) fn soft_limit(id: i32, name: &str) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{id}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_the_list_as_it_is() {
        let id = i32::try_from(std::process::id()).unwrap();
        let this = process(id).unwrap();
        assert_eq!((this.id, this.ended), (id, false));
        assert_eq!(this.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
        let listed = processes().unwrap();
        let listed = listed.iter().find(|process| process.id == id).unwrap();
        assert_eq!(*listed, this);
        assert_eq!(process(i32::MAX), None);
    }
}
