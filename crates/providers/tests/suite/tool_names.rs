//! Tools whose names no API takes are called all the same.

use std::sync::Arc;

use robota_core::{ModelEvent, Provider};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::api::{KINDS, provider, request, send, server, tool};

#[tokio::test]
async fn names_go_out_changed_and_come_back_as_they_are_known() {
    let long = format!("mcp/{}", "ж".repeat(80));
    for kind in KINDS {
        for name in ["mcp.files/read", "поиск", long.as_str(), "7zip"] {
            let mut request = request();
            request.tools = Arc::new([tool("Read"), tool(name)]);
            let probe = server("unused").await;
            let sent = {
                let provider = provider(kind, &probe);
                send(&provider, request.clone()).await;
                let tools = probe.requests()[0].json.clone().unwrap()["tools"][1].clone();
                tools["name"].as_str().or(tools["function"]["name"].as_str()).unwrap().to_owned()
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(
                sent.len() <= 64
                    && sent.chars().all(plain)
                    && !sent.starts_with(|c: char| c.is_ascii_digit())
            );

            let script = Script::new().reply(Reply::new().tool_call("c1", sent.as_str(), json!({})));
            let server = server(script).await;
            let (events, error) = send(&provider(kind, &server) as &dyn Provider, request).await;
            assert!(error.is_none(), "{error:?}");
            let called = events.iter().find_map(|event| match event {
                ModelEvent::ToolCallStart { name, .. } => Some(name.as_str()),
                _ => None,
            });
            assert_eq!(called, Some(name), "{kind}");
            server.assert_clean();
        }
    }
}
