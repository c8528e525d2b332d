//! ripgrep's list of file types.

use ignore::types::{FileTypeDef, Types, TypesBuilder};
use similar::get_close_matches;

use crate::failure::Failure;

/// Names suggested for one that is not known.
const MAX_SUGGESTIONS: usize = 3;

/// The types named in `list`, as in `rust`, `ts,js` or `!test`; `None` when it names none.
///
/// # Errors
///
/// When there is no such type: similar names are told.
pub(super) fn select(list: &str) -> Result<Option<Types>, Failure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    let mut any = false;
    for name in list.split(|c: char| c == ',' || c.is_whitespace()).filter(|name| !name.is_empty()) {
        any = true;
        let (negated, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
        let name = name.trim_start_matches(['.', '*']).to_lowercase();
        if name != "all" && !known.iter().any(|kind| kind.name() == name) {
            return Err(unknown(&name, &known));
        }
        if negated {
            builder.negate(&name);
        } else {
            builder.select(&name);
        }
    }
    if !any {
        return Ok(None);
    }
    let types = builder.build();
    types.map(Some).map_err(|error| Failure::new("invalid_argument", error.to_string()))
}

/// Types of files whose names end like this come first, then those that are written alike.
fn unknown(name: &str, known: &[FileTypeDef]) -> Failure {
    let ending = format!("*.{name}");
    let of_ending = known.iter().filter(|kind| kind.globs().contains(&ending)).map(FileTypeDef::name);
    let mut near: Vec<&str> = of_ending.collect();
    let names: Vec<&str> = known.iter().map(FileTypeDef::name).collect();
    for close in get_close_matches(name, &names, MAX_SUGGESTIONS, 0.6) {
        if !near.contains(&close) {
            near.push(close);
        }
    }
    near.truncate(MAX_SUGGESTIONS);
    let hint = if near.is_empty() {
        format!("use glob instead, as in `{ending}`")
    } else {
        format!("did you mean {}? Or use glob, as in `{ending}`", near.join(" or "))
    };
    Failure::new("invalid_argument", format!("there is no file type {name}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_near_names_are_told() {
        let types = select("rust, !py").unwrap().unwrap();
        assert!(types.matched("a.rs", false).is_whitelist());
        assert!(types.matched("a.py", false).is_ignore() && types.matched("a.c", false).is_ignore());
        assert!(select(" ,").unwrap().is_none());
        let message = |list: &str| select(list).unwrap_err().to_string();
        let of_ending = "there is no file type rs; did you mean rust or ";
        assert!(message("rs").starts_with(of_ending), "{}", message("rs"));
        let alike = "there is no file type pyton; did you mean python";
        assert!(message("pyton").starts_with(alike), "{}", message("pyton"));
        assert_eq!(message("qqq"), "there is no file type qqq; use glob instead, as in `*.qqq`");
    }
}
