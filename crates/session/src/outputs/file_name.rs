//! File names for ids of calls, which come from a model's server and may be anything.

use sha2::{Digest, Sha256};

/// Longest id that is used as it is, in bytes.
const LONGEST: usize = 100;

/// The name of the file for the call `id`: the id itself where it is plain, and otherwise what is plain of it with
/// a piece of its digest, so that two calls never share a file.
pub(super) fn of_call(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.is_empty() && id.len() <= LONGEST && id.chars().all(is_plain) {
        return format!("{id}.txt");
    }
    let plain: String = id.chars().take(LONGEST / 2).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let digest = Sha256::digest(id.as_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{plain}~{digest}.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_safe_name_of_its_own() {
        assert_eq!(of_call("toolu_01AbC-9"), "toolu_01AbC-9.txt");
        for id in ["", "../../etc/passwd", "..", "a/b", "a_b\0", &"x".repeat(300)] {
            let name = of_call(id);
            assert!(name.len() < 100 && !name.starts_with('.') && !name.contains(['/', '\0']), "{name}");
        }
        assert_ne!(of_call("a/b"), of_call("a:b"));
    }
}
