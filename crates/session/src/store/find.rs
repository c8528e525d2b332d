//! Finding a session by what a person types.

use std::path::Path;

use robota_core::SessionId;

use super::{SessionHead, SessionStore};
use crate::Error;

impl dyn SessionStore + '_ {
    /// The session that `query` names: by its id, by its name, or by the beginning of its id.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), and [`Ambiguous`](crate::ErrorKind::Ambiguous) with
    /// the candidates, latest first.
    pub async fn find(&self, query: &str) -> Result<SessionHead, Error> {
        if let Ok(id) = query.parse::<SessionId>()
            && let Some(head) = self.head(&id).await?
        {
            return Ok(head);
        }
        let sessions = self.list().await?.sessions;
        let named = |head: &&SessionHead| head.name.as_deref() == Some(query);
        let mut fits: Vec<SessionHead> = sessions.iter().filter(named).cloned().collect();
        if fits.is_empty() && !query.is_empty() {
            fits = sessions.into_iter().filter(|head| head.id.as_str().starts_with(query)).collect();
        }
        match fits.len() {
            0 => Err(Error::not_found(query)),
            1 => Ok(fits.remove(0)),
            _ => Err(Error::ambiguous(query, fits)),
        }
    }

    /// The session made in `cwd` in which something happened last; `None` when there is none.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage).
    pub async fn latest_for(&self, cwd: &Path) -> Result<Option<SessionHead>, Error> {
        Ok(self.list().await?.sessions.into_iter().find(|head| head.cwd == cwd))
    }
}
