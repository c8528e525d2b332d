//! Addresses, headers and keys.

use robota_core::{Message, ModelRequest, ProviderErrorKind, Timestamp};
use robota_providers::{ProviderKind, ProviderSpec, SecretString, build};
use robota_testkit::{Reply, Script};
use serde_json::json;

use crate::api::{KEY, answer, provider, send, server, spec, text};

#[tokio::test]
async fn the_headers_each_api_asks_for_are_sent() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("hi")).await;
        let mut spec = spec(kind, server.base_url());
        spec.options.headers = vec![("anthropic-beta".into(), SecretString::from("x-2026"))];
        answer(&spec.connect().unwrap()).await;
        let sent = server.request(1).await;
        let header = |name| sent.header(name).unwrap_or_default().to_owned();
        assert_eq!(header("user-agent"), format!("robota/{}", env!("CARGO_PKG_VERSION")));
        assert_eq!(header("content-type"), "application/json");
        assert_eq!(header("anthropic-beta"), "x-2026");
        match kind {
            ProviderKind::Anthropic => {
                assert_eq!((header("x-api-key"), header("authorization")), (KEY.into(), String::new()));
                assert_eq!(header("anthropic-version"), "2023-06-01");
            }
            _ => assert_eq!(header("authorization"), format!("Bearer {KEY}")),
        }
    }
}

#[tokio::test]
async fn a_bearer_token_takes_the_place_of_the_key() {
    let server = server(Reply::new().text("hi")).await;
    let mut spec = spec(ProviderKind::Anthropic, server.base_url());
    spec.api_key = None;
    spec.auth_token = Some(SecretString::from("token-1"));
    answer(&spec.connect().unwrap()).await;
    let sent = server.request(1).await;
    assert_eq!((sent.header("authorization"), sent.header("x-api-key")), (Some("Bearer token-1"), None));
}

#[tokio::test]
async fn a_server_of_ones_own_needs_no_key() {
    for kind in crate::api::KINDS {
        let server = server(Reply::new().text("hi")).await;
        let mut spec = spec(kind, server.base_url());
        spec.api_key = Some(SecretString::from("  "));
        answer(&spec.connect().unwrap()).await;
        assert_eq!(server.request(1).await.header("authorization"), None);
    }
}

#[test]
fn a_vendor_without_a_key_is_not_set_up() {
    for kind in crate::api::KINDS {
        let error = build(ProviderSpec::new(kind)).err().unwrap();
        assert_eq!(error.kind(), ProviderErrorKind::Configuration);
        assert_eq!(error.to_string(), format!("there is no key for {}", kind.definition().name));
        assert_eq!(
            error.hint(),
            Some(format!("set {} to your API key", kind.definition().key_variable().unwrap()).as_str())
        );
    }
}

#[test]
fn base_urls_are_taken_as_users_write_them() {
    let url = |kind, base: &str| spec(kind, base).connect().map(|provider| provider.url().to_owned());
    for base in
        ["https://a.example", "https://a.example/", "https://a.example/v1", "https://a.example/v1/messages"]
    {
        assert_eq!(url(ProviderKind::Anthropic, base).unwrap(), "https://a.example/v1/messages");
    }
    assert_eq!(url(ProviderKind::Anthropic, "http://h:1/proxy/").unwrap(), "http://h:1/proxy/v1/messages");
    for base in ["http://h:1", "http://h:1/v1/", "http://h:1/v1/chat/completions"] {
        assert_eq!(url(ProviderKind::OpenAi, base).unwrap(), "http://h:1/v1/chat/completions");
    }
    assert_eq!(url(ProviderKind::OpenAi, "http://h/api/v4").unwrap(), "http://h/api/v4/chat/completions");
    // Password and query are used, and not shown.
    assert_eq!(url(ProviderKind::OpenAi, "https://u:p@h/v1?k=s").unwrap(), "https://h/v1/chat/completions");

    for base in ["localhost:8080", "ftp://h", "h"] {
        let error = url(ProviderKind::OpenAi, base).unwrap_err();
        assert_eq!(error.kind(), ProviderErrorKind::Configuration);
        assert_eq!(
            error.to_string(),
            format!("{base} is not an address that starts with http:// or https://")
        );
    }
}

#[test]
fn options_that_cannot_be_used_are_refused_at_once() {
    let refused = |spec: ProviderSpec| {
        let error = spec.connect().unwrap_err();
        assert_eq!(error.kind(), ProviderErrorKind::Configuration);
        error.to_string()
    };
    let mut broken_key = spec(ProviderKind::OpenAi, "http://h");
    broken_key.api_key = Some(SecretString::from("sk-1\nsk-2"));
    assert_eq!(refused(broken_key), "the API key has characters that no key has, such as a line break");

    let mut broken_header = spec(ProviderKind::OpenAi, "http://h");
    broken_header.options.headers = vec![("a b".into(), SecretString::from("c"))];
    assert_eq!(
        refused(broken_header),
        "the request header `a b` has a name or value that HTTP does not allow"
    );

    let mut taken_field = spec(ProviderKind::Anthropic, "http://h");
    taken_field.options.body.insert("messages".into(), json!([]));
    assert_eq!(refused(taken_field), "the extra request field `messages` is one that robota writes itself");
}

#[test]
fn a_provider_and_its_options_do_not_show_the_key() {
    for kind in crate::api::KINDS {
        let spec = spec(kind, "http://127.0.0.1:1");
        let shown = format!("{spec:?} {:?}", spec.clone().connect().unwrap());
        assert!(!shown.contains(KEY), "{shown}");
    }
}

#[tokio::test]
async fn a_provider_that_was_warmed_up_serves_many_calls() {
    for kind in crate::api::KINDS {
        let server = server(Script::from_iter(["first", "second"])).await;
        let provider = provider(kind, &server);
        provider.warm_up();
        assert_eq!(text(&answer(&provider).await), "first");
        let other =
            ModelRequest::new("model-1", vec![Message::user("m", Timestamp::default(), "Other").into()]);
        assert_eq!(text(&send(&provider, other).await.0), "second");
        server.assert_clean();
    }
}
