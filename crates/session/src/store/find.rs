//! Finding a session by what a person types.

use std::path::Path;

use robota_core::SessionId;

use super::{SessionHead, SessionStore};
use crate::printable::printable;
use crate::{Error, session_name};

impl dyn SessionStore + '_ {
    /// The session that `query` names: by its id, by its name, or by the beginning of its id. A blank
    /// query names none.
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
        // As names are kept; what is too long for a name is none.
        let Some(name) = session_name::kept(Some(query)).ok().flatten() else {
            return Err(Error::not_found(printable(query)));
        };
        let sessions = self.list().await?.sessions;
        let named = |head: &&SessionHead| head.name.as_ref() == Some(&name);
        let mut fits: Vec<SessionHead> = sessions.iter().filter(named).cloned().collect();
        if fits.is_empty() {
            fits = sessions.into_iter().filter(|head| head.id.as_str().starts_with(&name)).collect();
        }
        match fits.len() {
            0 => Err(Error::not_found(name)),
            1 => Ok(fits.remove(0)),
            _ => Err(Error::ambiguous(query, fits)),
        }
    }

    /// The session made in `cwd` in which something happened last; `None` when there is none.
    ///
    /// Folders are compared as the texts that logs have of them. A session that the store does not
    /// [vouch](SessionStore::vouches_for) for is passed over.
    ///
    /// # Errors
    ///
    /// [`Storage`](crate::ErrorKind::Storage).
    pub async fn latest_for(&self, cwd: &Path) -> Result<Option<SessionHead>, Error> {
        for head in self.list().await?.sessions {
            if head.cwd.to_string_lossy() == cwd.to_string_lossy() && self.vouches_for(&head).await? {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }
}
