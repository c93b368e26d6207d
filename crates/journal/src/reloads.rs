//! That a running process took up another configuration, as a matter of record.

use super::{Journal, JournalError, doubt, history};
use serde_json::json;

impl Journal {
    /// Writes down who had a running process take up another configuration, and which keys of it are
    /// others.
    pub async fn note_reload(&self, by: &str, keys: &[String]) -> Result<(), JournalError> {
        let (at_ms, body) = (self.now_ms(), json!({ "by": by, "keys": keys }));
        Ok(self.write(move |conn| history::append(conn, at_ms, "reloaded", &body)).await??)
    }

    /// The journal for lanes that are taken up again by the same process: what is in doubt stays so, and
    /// what is learnt of an old copy is not forgotten again.
    pub async fn taken_up_again(&self) -> Result<Self, JournalError> {
        self.ready()?;
        let newest = self.read(doubt::newest_row).await?;
        let left_ms = Some(newest).filter(|at_ms| *at_ms > 0).or(self.left_ms);
        Ok(Self { old_copy: false, left_ms, was_closed: true, ..self.clone() })
    }
}
