//! The file that keeps what clients asked.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use robota_testkit::{RecordedRequest, Violation};
use serde_json::{Value, json};

/// Headers whose values are secrets.
const SECRET: [&str; 5] = ["authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"];

pub(crate) struct Recording(Mutex<File>);

impl Recording {
    /// Opens the file for appending.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Mutex::new(OpenOptions::new().append(true).create(true).open(path)?)))
    }

    /// Adds one line, in one write.
    pub(crate) fn add(&self, request: &RecordedRequest, violations: &[Violation]) -> io::Result<()> {
        let headers = request.headers.iter().map(|(name, value)| {
            let value = if SECRET.contains(&name.as_str()) { "[redacted]" } else { value };
            (name.clone(), Value::from(value))
        });
        let body = request
            .json
            .clone()
            .unwrap_or_else(|| String::from_utf8_lossy(&request.body).into_owned().into());
        let line = json!({
            "number": request.number,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": headers.collect::<serde_json::Map<_, _>>(),
            "body": body,
            "violations": violations.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes())
    }
}
