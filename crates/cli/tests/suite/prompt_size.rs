//! What a first request costs before the user has said anything.

use crate::context::Context;

/// The budget of design section 8, in bytes.
const BUDGET: usize = 12_000;

#[test]
fn system_prompt_and_tools_of_a_first_request_fit_the_budget() {
    let context = Context::new("ok");
    context.run(&["-p", "x"]).assert_success();
    let requests = context.server.requests();
    let request = requests[0].json.as_ref().unwrap();
    let bytes = |key: &str| serde_json::to_vec(&request[key]).unwrap().len();
    let (system, tools) = (bytes("system"), bytes("tools"));
    assert!(system + tools <= BUDGET, "system prompt {system} B + tools {tools} B > {BUDGET} B");
    // Names and descriptions, so that a change of what the model reads shows in review.
    let tools = request["tools"].as_array().unwrap().iter();
    let told: Vec<String> = tools
        .map(|tool| format!("{}: {}", tool["name"].as_str().unwrap(), tool["description"].as_str().unwrap()))
        .collect();
    let hundreds = (system + serde_json::to_vec(&request["tools"]).unwrap().len()).div_ceil(100) * 100;
    insta::assert_snapshot!("first_request", format!("at most {hundreds} bytes\n\n{}", told.join("\n\n")));
}
