//! Adds rules to the text of a settings file, and leaves everything else in it as people wrote it.

use jsonc_parser::cst::{CstInputValue, CstRootNode};

use crate::settings::JSONC;

/// `text` with `rules` at the end of `permissions.allow`, without those that stand there already; `None` when
/// all do.
///
/// # Errors
///
/// When the text is no JSON, or has something else in the place of an object or array: why.
pub(super) fn with_allow_rules(text: &str, rules: &[String]) -> Result<Option<String>, String> {
    let root = CstRootNode::parse(text, &JSONC).map_err(|error| error.to_string())?;
    let file = root.object_value_or_create().ok_or("it is not an object")?;
    let permissions = file.object_value_or_create("permissions").ok_or("`permissions` is not an object")?;
    let is_new = permissions.get("allow").is_none();
    let allow = permissions.array_value_or_create("allow").ok_or("`permissions.allow` is not an array")?;
    let elements = allow.elements();
    let mut present: Vec<String> =
        elements.iter().filter_map(|element| element.as_string_lit()?.decoded_value().ok()).collect();
    let before = present.len();
    for rule in rules {
        if !present.contains(rule) {
            present.push(rule.clone());
            allow.append(CstInputValue::String(rule.clone()));
        }
    }
    if is_new {
        allow.ensure_multiline();
    }
    Ok((present.len() > before).then(|| with_line_end(root.to_string())))
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, rules: &[&str]) -> Option<String> {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        with_allow_rules(text, &rules).unwrap()
    }

    #[test]
    fn a_new_file_is_laid_out_for_people() {
        let expected = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\",\n      \"Bash(a \\\"b\\\")\"\n    ]\n  }\n}\n";
        assert_eq!(added("", &["Read", "Bash(a \"b\")"]).as_deref(), Some(expected));
        assert_eq!(added("{}\n", &["Read", "Bash(a \"b\")", "Read"]).as_deref(), Some(expected));
    }

    #[test]
    fn comments_and_layout_of_the_rest_stay() {
        let text = "// mine\n{\n\t\"model\": \"m\", /* why */\n\t\"permissions\": {\n\t\t\"deny\": [\"Bash(rm *)\"],\n\t\t\"allow\": [\n\t\t\t\"Read\", // all of it\n\t\t\t\"Glob\" // and this\n\t\t],\n\t},\n}\n";
        let expected = text.replace("\"Glob\" // and this\n", "\"Glob\", // and this\n\t\t\t\"Edit\"\n");
        assert_eq!(added(text, &["Glob", "Edit"]).as_deref(), Some(&*expected));
        assert_eq!(added(text, &["Glob", "Read"]), None);
        let line = r#"{"permissions": {"allow": ["Read",]}, "model": "m"}"#;
        let expected = "{\"permissions\": {\"allow\": [\"Read\", \"Edit\"]}, \"model\": \"m\"}\n";
        assert_eq!(added(line, &["Edit"]).as_deref(), Some(expected));
    }

    #[test]
    fn comments_alone_and_line_ends_of_windows_stay() {
        let commented = added("// mine\n", &["Read"]).unwrap();
        assert!(commented.starts_with("// mine\n{\n"), "{commented:?}");
        let windows = added(
            "{\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Read\"\r\n    ]\r\n  }\r\n}\r\n",
            &["Edit"],
        )
        .unwrap();
        assert!(windows.contains("      \"Read\",\r\n      \"Edit\"\r\n    ]\r\n"), "{windows:?}");
    }

    #[test]
    fn what_is_in_the_way_stays_where_it_is() {
        let refused = |text: &str| with_allow_rules(text, &["Read".to_owned()]).unwrap_err();
        assert_eq!(refused("[]"), "it is not an object");
        assert_eq!(refused("{\"permissions\": 1}"), "`permissions` is not an object");
        assert_eq!(
            refused("{\"permissions\": {\"allow\": \"Read\"}}"),
            "`permissions.allow` is not an array"
        );
        assert!(with_allow_rules("{", &[]).is_err());
    }
}
