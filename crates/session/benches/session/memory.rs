//! Memory of this process, as Linux tells it; `None` elsewhere.

/// Bytes in RAM now.
pub(crate) fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// The most bytes that were in RAM since [`forget_peak`].
pub(crate) fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// Begins to look for the peak anew. Where that is not allowed, the peak is that of the whole run.
#[expect(clippy::disallowed_methods, reason = "a switch of the kernel, not a file")]
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn status(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
