//! `merchant-signer networks rename`: gives a network another id of the platform, with all its claims.

use crate::config::JournalPlace;
use crate::journal::{Journal, NotRenamed, OpenError, Renaming};

/// Why a network keeps its id. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The journal was not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It does not agree.
    #[error(transparent)]
    NotRenamed(#[from] NotRenamed),
}

/// What a server's journal does not do.
const KEEPS_ITS_ID: OpenError = OpenError::OnServer(
    "a network keeps its id there, since the role of a Signer may not change what was written down",
);

/// Renames in the journal that `config` names. The Signer must not be running.
pub async fn rename(journal: &JournalPlace, renaming: Renaming) -> Result<(), RenameError> {
    if journal.file().is_none() {
        return Err(KEEPS_ITS_ID.into());
    }
    let journal = Journal::open_at(journal)?;
    let renamed = journal.rename(renaming).await;
    journal.close().await;
    Ok(renamed?)
}
