//! The account's history on a chain that counts its transactions.

use super::fates::Fates;
use super::head_watch::HeadWatch;
use super::nonces::Nonces;
use crate::{ChainError, MostSent, NonceHistory};
use async_trait::async_trait;
use billing::PlaceTakers;
use std::sync::Arc;

/// The history of the account, by its nonces.
#[derive(Debug)]
pub(super) struct History {
    pub(super) head: Arc<HeadWatch>,
    pub(super) nonces: Nonces,
    pub(super) fates: Arc<Fates>,
}

#[async_trait]
impl NonceHistory for History {
    async fn undenied_sent(&self) -> Result<MostSent, ChainError> {
        self.nonces.undenied().await
    }

    async fn most_sent(&self) -> Result<MostSent, ChainError> {
        self.nonces.highest().await
    }

    async fn sent_before(&self, at_ms: i64) -> Result<u64, ChainError> {
        let head = self.head.current().await?;
        if head.nonces.mined == 0 {
            return Ok(0);
        }
        self.nonces.before(at_ms, head.final_block).await
    }

    async fn foreign_transactions(&self, from: u64, to: u64) -> Result<PlaceTakers, ChainError> {
        self.fates.takers(from, to, &*self.head.current().await?).await
    }
}
