//! Bodies of answers: passed on as they come, or a sentence of our own.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

pub(super) type Body = BoxBody<Bytes, hyper::Error>;

pub(super) fn passed_on(body: Incoming) -> Body {
    body.boxed()
}

pub(super) fn none() -> Body {
    Empty::new().map_err(|never| match never {}).boxed()
}

/// An answer of the proxy itself. Programs show the body, the reason beside the status, or neither: both have it.
pub(super) fn told(status: StatusCode, sentence: &str) -> Response<Body> {
    let text = format!("robota: {sentence}\n");
    let mut response = Response::new(Full::from(text).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if let Ok(reason) = ReasonPhrase::try_from(format!("robota: {sentence}")) {
        response.extensions_mut().insert(reason);
    }
    response
}
