//! What a Signer with a broken rule concludes instead of what the product concludes.

use super::adapter::{SimChain, hashes};
use super::mutants::Mutant;
use crate::billing::{Attempt, AttemptKind, BlockRef, Objection, Sighting, Slot};
use crate::chain::evm::conclude::{Fate, Testimony};
use crate::chain::evm::seam;
use crate::journal::Durable;
use alloy::primitives::B256;

impl SimChain {
    /// What a Signer with a broken rule concludes instead.
    pub(super) fn misjudged(
        &self,
        slot: &Slot<Durable<Attempt>>,
        said: &[Testimony],
        fate: &Fate,
    ) -> Option<Sighting> {
        let mutant = self.world.lock().mutant?;
        let newest = slot.attempts.newest().get();
        let heard = self.heard.lock().get(&newest.signed.hash).cloned().unwrap_or_default();
        let ours = newest.signed.hash;
        let untaken = !heard.is_empty() && !heard.iter().any(|said| seam::has(said, ours));
        let refused = |what: fn(Objection) -> bool| {
            heard.iter().any(|said| seam::objection(said).is_some_and(what))
        };
        let dead = match mutant {
            Mutant::ReleaseOnReject => untaken && refused(|_| true),
            Mutant::ReleaseOnSendError => untaken,
            Mutant::NonceTooLowIsDead => {
                untaken && refused(|objection| objection == Objection::NonceTaken)
            }
            Mutant::AbsenceProof => {
                let hashes: Vec<B256> = hashes(slot);
                let gone = |node: &&Testimony| {
                    node.settled.is_some_and(|settled| settled > slot.position)
                        && !hashes.iter().any(|hash| node.receipts.contains_key(hash))
                };
                said.iter().filter(gone).count() >= 2
            }
            Mutant::CancelReleasesAtBroadcast => {
                newest.kind == AttemptKind::Cancel && !heard.is_empty()
            }
            Mutant::LatestNotFinal
            | Mutant::AnswerFailOnAmbiguousCommit
            | Mutant::BroadcastBeforePersist
            | Mutant::OneNodeQuorum
            | Mutant::NoClaimKey
            | Mutant::ForgetOldAttempts
            | Mutant::NonceFromPending
            | Mutant::NoRebroadcast
            | Mutant::NormalSync
            | Mutant::TrustOldCopy
            | Mutant::LearnTooEarly => false,
        };
        let decided = matches!(fate, Fate::Ours(_) | Fate::Foreign(_));
        (dead && !decided).then_some(Sighting::Never(BlockRef { number: 0, time: 0 }))
    }
}
