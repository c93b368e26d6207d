//! The number of transactions that the account had sent at a time that has passed: asked at the newest final block
//! that is not later.

use super::identify::first_above;
use super::{EvmChain, node};
use crate::{ChainError, OddAnswer, Unanswered};
use ::node::{NodeId, reached_by};
use futures_util::future::join_all;

impl EvmChain {
    /// As many as so many nodes bear out as have to agree, at `at_ms` (Unix ms of this machine, whose clock
    /// may be as wrong as it may be where something is signed). A node that tells too many would hide what
    /// was sent since, so none does so alone.
    pub(super) async fn nonce_before(&self, at_ms: i64) -> Result<u64, ChainError> {
        let head = self.current().await?;
        if head.nonces.mined == 0 {
            return Ok(0);
        }
        let at_s = u64::try_from(at_ms.div_euclid(1000)).unwrap_or_default();
        let at_s = at_s.saturating_sub(self.parts.config.clock_tolerance.as_secs());
        let fleet = &self.parts.fleet;
        let asked = fleet.fit().into_iter().map(|id| self.told_before(id, at_s, head.final_block));
        let (told, failed): (Vec<_>, Vec<_>) =
            join_all(asked).await.into_iter().partition(Result::is_ok);
        let needed = fleet.needed();
        reached_by(told.into_iter().flatten(), needed).ok_or_else(|| {
            let why = failed.into_iter().find_map(Result::err);
            let why = why.unwrap_or_else(|| Unanswered::TooFewNodes.into());
            Unanswered::NoPast { needed, at_s, why: Box::new(why) }.into()
        })
    }

    /// Returns the number that one node tells, up to `at_s` (Unix seconds).
    async fn told_before(
        &self,
        id: NodeId,
        at_s: u64,
        final_block: u64,
    ) -> Result<u64, ChainError> {
        let rpc = self.parts.fleet.only(id);
        let time_of = async |block| {
            let header = node::header(rpc, &node::quantity(block)).await?;
            let nothing =
                ChainError::Node { question: "eth_getBlockByNumber", answer: OddAnswer::NoBlock };
            Ok::<_, ChainError>(header.ok_or(nothing)?.time())
        };
        let block = match first_above(at_s, None, final_block, time_of).await? {
            None => final_block,
            Some(later) => match later.checked_sub(1) {
                None => return Ok(0),
                Some(block) => block,
            },
        };
        Ok(node::nonce_at(rpc, self.account.facts.signer, block).await?)
    }
}
