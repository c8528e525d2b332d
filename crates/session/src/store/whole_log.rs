//! A log that is there from its first line to its last, or not at all.

use futures_util::future::BoxFuture;
use robota_core::SessionId;

use crate::log::extract;
use crate::{Error, OpenLog, Payload};

/// `lines` of the session `id` with their large fields taken out of them.
pub(super) fn without_payloads(id: &SessionId, lines: &[u8]) -> (Vec<u8>, Vec<Payload>) {
    let (mut short, mut payloads) = (Vec::with_capacity(lines.len()), Vec::new());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match extract(line, id, |payload| payloads.push(payload)) {
            Some(line) => short.extend_from_slice(&line),
            None => short.extend_from_slice(line),
        }
    }
    (short, payloads)
}

/// Makes a session and then its log, for stores that cannot do both at once; what fails on the way is taken
/// back.
pub(super) async fn create_then_append<'a>(
    create: BoxFuture<'a, Result<Option<OpenLog>, Error>>,
    id: &SessionId,
    lines: Vec<u8>,
    delete: impl FnOnce() -> BoxFuture<'a, Result<(), Error>>,
) -> Result<Option<OpenLog>, Error> {
    let Some(mut log) = create.await? else { return Ok(None) };
    let Err(error) = append(&mut log, id, lines).await else { return Ok(Some(log)) };
    let failed = Error::storage(format!("cannot write {}", log.location), error);
    drop(log);
    if let Err(error) = delete().await {
        tracing::warn!(%error, session = %id, "a session that could not be made left something behind");
    }
    Err(failed)
}

async fn append(log: &mut OpenLog, id: &SessionId, mut lines: Vec<u8>) -> std::io::Result<()> {
    if log.writer.keeps_payloads() {
        let (short, payloads) = without_payloads(id, &lines);
        if !payloads.is_empty() {
            log.writer.put_payloads(payloads).await?;
        }
        lines = short;
    }
    log.writer.append(&lines).await?;
    log.writer.sync().await?;
    log.offset += lines.len() as u64;
    Ok(())
}
