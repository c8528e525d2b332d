//! From an HTTP request to an HTTP response.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts as Head;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::playback::{self, Body, Cut, Player};
use crate::director::{Directive, Director};
use crate::script::{Answer, Content, ErrorReply, Step};
use crate::wire::{self, Call, Frame, error_body};
use crate::{Dialect, Gate, RawBytes, RecordedRequest, Reply, gemini_request};

/// The largest request body that is read, in bytes.
const BODY_LIMIT: usize = 128 << 20;

/// Answers one request. An error closes the connection without an answer.
pub(super) async fn answer(
    request: Request<Incoming>,
    connection: usize,
    director: Arc<Director>,
    stop: CancellationToken,
) -> Result<Response<Body>, Cut> {
    let (head, body) = request.into_parts();
    let shape = error_shape(&head);
    let body = match Limited::new(body, BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            let message = format!("the request body cannot be read: {error}");
            return Ok(json_response(413, &error_body(shape, 413, None, &message, 0)));
        }
    };
    if let Some(name) = head.uri.path().strip_prefix("/fake/gates/") {
        return control(&head.method, &director.gate(name), &stop).await;
    }
    let (request, directive, active) =
        director.receive(recorded(&head, body, connection, director.reads_bodies()));
    let Some((directive, dialect)) = directive.zip(request.dialect) else {
        return Ok(no_call(&request, shape, &director));
    };
    let player = Player::new(director, stop, active);
    match directive {
        Directive::Play(reply) => play(&request, dialect, reply, player).await,
        Directive::Refuse(message) => Ok(fixed_error(dialect, 400, &message, request.number)),
        Directive::Exhausted(message) => {
            let mut response = fixed_error(dialect, 500, &message, request.number);
            // The vendors' clients heed it; asking again would find nothing new.
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
            Ok(response)
        }
    }
}

/// Lets clients in other languages wait for gates and open them.
async fn control(method: &Method, gate: &Gate, stop: &CancellationToken) -> Result<Response<Body>, Cut> {
    match *method {
        Method::POST => gate.open(),
        Method::GET => stop.run_until_cancelled(gate.arrival()).await.ok_or(Cut)?,
        _ => return Ok(fixed_error(Dialect::OpenAiChat, 405, "GET waits for a gate, POST opens it", 0)),
    }
    Ok(json_response(200, &json!({"gate": gate.name()})))
}

/// The request as it is kept; without `whole`, of the JSON only what the answer needs.
fn recorded(head: &Head, body: Bytes, connection: usize, whole: bool) -> RecordedRequest {
    let mut headers = std::collections::BTreeMap::<String, String>::new();
    for (name, value) in &head.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let known = headers.entry(name.as_str().to_owned()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(&value);
    }
    let path = head.uri.path().to_owned();
    let dialect = match (&head.method, path.as_str()) {
        (&Method::POST, path) if is_gemini_call(path) => Some(Dialect::Gemini),
        (&Method::POST, "/v1/messages") => Some(Dialect::AnthropicMessages),
        (&Method::POST, "/chat/completions" | "/v1/chat/completions") => Some(Dialect::OpenAiChat),
        (&Method::POST, "/responses" | "/v1/responses") => Some(Dialect::OpenAiResponses),
        _ => None,
    };
    RecordedRequest {
        number: 0,
        connection,
        dialect,
        method: head.method.as_str().to_owned(),
        path,
        query: head.uri.query().map(str::to_owned),
        headers,
        json: if whole { serde_json::from_slice(&body).ok() } else { envelope(&body) },
        body,
    }
}

fn is_gemini_call(path: &str) -> bool {
    let method = gemini_request::target(path).map(|(_, method)| method);
    matches!(method, Some("streamGenerateContent" | "generateContent"))
}

/// The few fields an answer depends on, read without building the rest.
fn envelope(body: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        model: Option<Cow<'a, str>>,
        stream: Option<bool>,
        stream_options: Option<Value>,
        include: Option<Value>,
    }
    let Envelope { model, stream, stream_options, include } = serde_json::from_slice(body).ok()?;
    Some(json!({"model": model, "stream": stream, "stream_options": stream_options, "include": include}))
}

/// The API whose client this seems to be.
fn error_shape(head: &Head) -> Dialect {
    let path = head.uri.path();
    if head.headers.contains_key("x-goog-api-key") || path.starts_with("/v1beta/") {
        return Dialect::Gemini;
    }
    let anthropic = ["anthropic-version", "x-api-key"].iter().any(|name| head.headers.contains_key(*name));
    if anthropic || path.starts_with("/v1/messages") {
        Dialect::AnthropicMessages
    } else {
        Dialect::OpenAiChat
    }
}

/// The answer to a request that is no model call.
fn no_call(request: &RecordedRequest, shape: Dialect, director: &Director) -> Response<Body> {
    let RecordedRequest { method, path, number, .. } = request;
    match (method.as_str(), path.as_str()) {
        ("GET", "/v1beta/models") => json_response(200, &wire::gemini_models(director.models())),
        ("POST", path) if path.ends_with(":countTokens") => {
            json_response(200, &json!({"totalTokens": token_count(request)}))
        }
        ("GET", "/v1/models" | "/models") => json_response(200, &models(shape, director.models())),
        ("POST", "/v1/messages/count_tokens") => {
            json_response(200, &json!({"input_tokens": token_count(request)}))
        }
        ("POST", "/v1/responses/input_tokens" | "/responses/input_tokens") => {
            let count = json!({"object": "response.input_tokens", "input_tokens": token_count(request)});
            json_response(200, &count)
        }
        (
            _,
            "/v1/messages"
            | "/v1/messages/count_tokens"
            | "/chat/completions"
            | "/v1/chat/completions"
            | "/responses"
            | "/v1/responses"
            | "/responses/input_tokens"
            | "/v1/responses/input_tokens"
            | "/v1/models"
            | "/models",
        ) => fixed_error(shape, 405, &format!("{method} is not allowed for {path}"), *number),
        _ => unknown_path(shape, path, *number),
    }
}

/// A token for every four bytes of the body.
fn token_count(request: &RecordedRequest) -> usize {
    request.body.len().div_ceil(4)
}

fn models(shape: Dialect, models: &[String]) -> Value {
    if shape == Dialect::Gemini {
        return wire::gemini_models(models);
    }
    if shape == Dialect::AnthropicMessages {
        let list = models.iter().map(
            |id| json!({"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z"}),
        );
        let list = list.collect::<Vec<_>>();
        return json!({"data": list, "has_more": false, "first_id": models.first(), "last_id": models.last()});
    }
    let list = models.iter().map(
        |id| json!({"id": id, "object": "model", "created": 1_767_225_600, "owned_by": "robota-testkit"}),
    );
    json!({"object": "list", "data": list.collect::<Vec<_>>()})
}

async fn play(
    request: &RecordedRequest,
    dialect: Dialect,
    reply: Reply,
    player: Player,
) -> Result<Response<Body>, Cut> {
    if let Some(gate) = &reply.hold_at {
        player.wait_at(gate).await?;
    }
    let Reply { content, headers, framing, trailing, .. } = reply;
    let call = Call::of(request, dialect);
    let (status, content_type, frames) = match content {
        Content::HangUp => return Err(Cut),
        Content::Error(ErrorReply { status, kind, message, .. }) => {
            let body = error_body(dialect, status, kind.as_deref(), &message, request.number);
            (status, "application/json".to_owned(), vec![Frame::Chunk(body.to_string().into())])
        }
        Content::Body { status, content_type, body } => (status, content_type, vec![Frame::Chunk(body.0)]),
        Content::Steps(steps) if steps.iter().any(|step| matches!(step, Step::Event(_))) => {
            let message = "the reply has a step that only a scripted provider in process can play";
            return Ok(fixed_error(dialect, 500, message, request.number));
        }
        Content::Steps(steps) if call.stream => {
            (200, "text/event-stream".to_owned(), wire::stream(&call, &steps, framing))
        }
        Content::Steps(steps) => {
            let (status, body) = whole(&call, &steps, &player).await?;
            (status, "application/json".to_owned(), vec![Frame::Chunk(body.to_string().into())])
        }
    };
    let frames = with_trailing(frames, trailing);
    let frames = if framing.gzip { wire::gzipped(frames) } else { frames };
    let frames = match framing.chunk_bytes {
        Some(size) => wire::sliced(frames, size),
        None => frames,
    };
    let body = player.into_body(frames, framing.chunk_bytes.is_some());
    let mut response = response(status, &content_type, body);
    if framing.gzip {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    add_headers(&mut response, dialect, request.number, headers);
    Ok(response)
}

fn with_trailing(mut frames: Vec<Frame>, trailing: RawBytes) -> Vec<Frame> {
    if !trailing.is_empty() && frames.last() != Some(&Frame::Cut) {
        frames.push(Frame::Chunk(trailing.0));
    }
    frames
}

/// The answer to a client that does not stream: waits first, then everything at once.
async fn whole(call: &Call<'_>, steps: &[Step], player: &Player) -> Result<(u16, Value), Cut> {
    for step in steps {
        match step {
            Step::Gate(name) => player.wait_at(name).await?,
            Step::PauseMs(millis) => player.rest(*millis).await?,
            Step::Cut => return Err(Cut),
            Step::Error { kind, message } => {
                let status = if kind == "overloaded_error" { 529 } else { 500 };
                return Ok((status, error_body(call.dialect, status, Some(kind), message, call.number)));
            }
            Step::End => break,
            _ => {}
        }
    }
    Ok((200, wire::whole(call, &Answer::of(steps))))
}

fn add_headers(
    response: &mut Response<Body>,
    dialect: Dialect,
    number: usize,
    headers: impl IntoIterator<Item = (String, String)>,
) {
    let id_header = if dialect == Dialect::AnthropicMessages { "request-id" } else { "x-request-id" };
    let own = [(id_header.to_owned(), format!("req_fake_{number}"))];
    for (name, value) in own.into_iter().chain(headers) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
}

/// There is nothing at `path`, which is no model that is missing.
fn unknown_path(dialect: Dialect, path: &str, number: usize) -> Response<Body> {
    let mut body = error_body(dialect, 404, None, &format!("there is nothing at {path}"), number);
    if let Some(code) = body.pointer_mut("/error/code").filter(|code| code.is_string()) {
        *code = json!("unknown_url");
    }
    let mut response = json_response(404, &body);
    add_headers(&mut response, dialect, number, None);
    response
}

fn fixed_error(dialect: Dialect, status: u16, message: &str, number: usize) -> Response<Body> {
    let mut response = json_response(status, &error_body(dialect, status, None, message, number));
    add_headers(&mut response, dialect, number, None);
    response
}

fn json_response(status: u16, body: &Value) -> Response<Body> {
    response(status, "application/json", playback::full(body.to_string().into()))
}

fn response(status: u16, content_type: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(content_type) = HeaderValue::try_from(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    response
}
