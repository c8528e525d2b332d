//! Arguments that come value by value, each under its path.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Steps that a path may have.
const MAX_STEPS: usize = 64;

/// A value, or a piece of a text, at `jsonPath`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg {
    #[serde(default)]
    json_path: String,
    string_value: Option<String>,
    number_value: Option<Value>,
    bool_value: Option<bool>,
}

/// The arguments so far.
#[derive(Default)]
pub(super) struct PartialArgs(Map<String, Value>);

impl PartialArgs {
    /// Takes a value. Text goes on where there is text already. Paths that cannot be followed are passed over.
    pub(super) fn take(&mut self, partial: PartialArg) {
        let PartialArg { json_path, string_value, number_value, bool_value } = partial;
        let Some(steps) = steps(&json_path) else { return };
        let [Step::Name(first), rest @ ..] = steps.as_slice() else { return };
        let first = self.0.entry(first.clone()).or_insert(Value::Null);
        let Some(place) = rest.iter().try_fold(first, place) else { return };
        match (place, string_value) {
            (Value::String(text), Some(more)) => text.push_str(&more),
            (place, Some(text)) => *place = text.into(),
            (place, None) => {
                *place = number_value.map(whole).or(bool_value.map(Value::Bool)).unwrap_or_default();
            }
        }
    }

    pub(super) fn finish(self) -> Map<String, Value> {
        self.0
    }
}

/// A number without a fraction where it has none: all numbers come as floating ones.
fn whole(number: Value) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be exact before it is used")]
    let exact = number.as_f64().map(|float| (float, float as i64));
    match exact {
        #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "exact within these bounds")]
        Some((float, int)) if number.is_f64() && float.abs() < 9e15 && int as f64 == float => int.into(),
        _ => number,
    }
}

enum Step {
    Name(String),
    At(usize),
}

/// The place one step below `value`, which is made when it is not there.
fn place<'a>(value: &'a mut Value, step: &Step) -> Option<&'a mut Value> {
    match step {
        Step::Name(name) => {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            Some(value.as_object_mut()?.entry(name.clone()).or_insert(Value::Null))
        }
        Step::At(at) => {
            if value.is_null() {
                *value = Value::Array(Vec::new());
            }
            let list = value.as_array_mut()?;
            if *at >= list.len() {
                list.push(Value::Null);
                return list.last_mut();
            }
            list.get_mut(*at)
        }
    }
}

/// The steps of a path such as `$.a.b[0]['c d']`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() && steps.len() < MAX_STEPS {
        if let Some(inner) = rest.strip_prefix('[') {
            let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let (step, after) = match quote {
                Some(quote) => inner.get(1..)?.split_once(&format!("{quote}]"))?,
                None => inner.split_once(']')?,
            };
            let step =
                if quote.is_some() { Step::Name(step.to_owned()) } else { Step::At(step.parse().ok()?) };
            steps.push(step);
            rest = after;
        } else {
            let name = rest.strip_prefix('.').unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at_checked(end)?;
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Name(name.to_owned()));
            rest = after;
        }
    }
    rest.is_empty().then_some(steps)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_find_their_places() {
        let mut args = PartialArgs::default();
        for partial in [
            json!({"jsonPath": "$.place", "stringValue": "New ", "willContinue": true}),
            json!({"jsonPath": "$.place", "stringValue": "Delhi"}),
            json!({"jsonPath": "$.days[0].at", "numberValue": 3.0}),
            json!({"jsonPath": "$.days[1]['x.y']", "numberValue": 2.5}),
            json!({"jsonPath": "$.exact", "boolValue": true}),
            json!({"jsonPath": "$.none", "nullValue": "NULL_VALUE"}),
            json!({"jsonPath": "$.place[0]", "stringValue": "no list"}),
            json!({"jsonPath": "$..", "stringValue": "no path"}),
            json!({"jsonPath": "", "stringValue": "no place"}),
            json!({"jsonPath": format!("${}", "[0]".repeat(100_000))}),
        ] {
            args.take(serde_json::from_value(partial).unwrap());
        }
        let days = json!([{"at": 3}, {"x.y": 2.5}]);
        let expected = json!({"place": "New Delhi", "days": days, "exact": true, "none": null});
        assert_eq!(Value::Object(args.finish()), expected);
    }
}
