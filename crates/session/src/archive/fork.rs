//! A copy of a stored session, made without a model.

use robota_core::{Ambient, SessionId};
use serde::Serialize;

use super::imported_log::ImportedLog;
use crate::session::half_done;
use crate::{Error, LineFilter, SessionStore, StoredSession, session_name};

/// How a stored session is forked.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ForkOptions {
    /// The turn right after which the copy begins, 0 for before the first; `None` for the end.
    pub at: Option<u32>,
    /// Name of the copy.
    pub name: Option<String>,
    /// Time, and where the id of the copy comes from.
    pub ambient: Ambient,
    /// Goes over every line and the snapshot before they are stored.
    pub line_filter: Option<LineFilter>,
}

/// What a fork came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ForkReport {
    /// The copy.
    pub session_id: SessionId,
    /// The session it was made from.
    pub forked_from: SessionId,
    /// Name of the copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The turn right after which it begins; `None` for the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Messages the model will see, the system prompt not counted.
    pub messages: usize,
}

/// Makes a session that begins with a copy of the history of the session `id`, which stays as it is and may
/// be open elsewhere: [`Session::fork`](crate::Session::fork) and
/// [`Session::fork_at`](crate::Session::fork_at) for whoever has no provider. System prompt, tools and
/// folder are those of the original until the copy is opened.
///
/// Tool calls of which the original has no result are answered as when a session is opened again.
///
/// # Errors
///
/// [`NotFound`](crate::ErrorKind::NotFound), [`InvalidTurn`](crate::ErrorKind::InvalidTurn) with the turns
/// that there are, [`InvalidName`](crate::ErrorKind::InvalidName),
/// [`InvalidId`](crate::ErrorKind::InvalidId) when `options.ambient` makes no valid ids,
/// [`Storage`](crate::ErrorKind::Storage). Nothing is there then that was not there before.
pub async fn fork(
    store: &dyn SessionStore,
    id: &SessionId,
    options: &ForkOptions,
) -> Result<ForkReport, Error> {
    let name = session_name::kept(options.name.as_deref())?;
    let source = match options.at {
        None => store.load(id).await?,
        Some(turn) => store.load_at(id, turn).await?,
    };
    let copy = copy_of(source, options.ambient.next_id().parse()?, name, &options.ambient);
    let (new_id, filter) = (copy.id.clone(), options.line_filter.as_ref());
    let state = ImportedLog::telling(copy, filter)?.store(store, &new_id, filter).await?;
    Ok(ForkReport {
        session_id: new_id,
        forked_from: id.clone(),
        name: state.name,
        at: options.at,
        messages: state.history.messages().len(),
    })
}

fn copy_of(source: StoredSession, id: SessionId, name: Option<String>, ambient: &Ambient) -> StoredSession {
    let mut copy = StoredSession::new(id);
    copy.name = name;
    copy.forked_from = Some(source.id);
    copy.created_at = ambient.now();
    copy.updated_at = copy.created_at;
    copy.cwd = source.cwd;
    copy.system_prompt = source.system_prompt;
    copy.tool_schemas = source.tool_schemas;
    copy.history = source.history;
    half_done::answer(&mut copy.history, &source.started_calls, half_done::PROCESS_STOPPED, ambient);
    copy
}
