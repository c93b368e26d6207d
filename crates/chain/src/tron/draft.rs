//! A billing transaction that lacks its place in the lane and its signature, and how it gets them.

use super::spending::Priced;
use super::spends::SpendOf;
use crate::{Draft, SealError};
use alloy::primitives::U256;
use async_trait::async_trait;
use billing::{Attempt, Signed};
use contract::Profile;
use journal::{Durable, Sealed};
use policy::Intent;
use signing::{SigningContext, sign};
use std::fmt;
use std::sync::Arc;
use tron_primitives::transaction::Unsigned;

/// All of a transaction but its place in the lane.
pub(super) struct TronDraft {
    /// The call, with the time of its draft as its timestamp.
    pub(super) unsigned: Unsigned,
    pub(super) priced: Priced,
    /// The profile by which the call is read before it is signed.
    pub(super) profile: Arc<Profile>,
    pub(super) signing: Arc<SigningContext>,
}

/// Without the calldata, which can be long.
impl fmt::Debug for TronDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TronDraft")
            .field("contract", &self.unsigned.contract)
            .field("expiration_ms", &self.unsigned.expiration_ms)
            .field("fee_limit", &self.unsigned.fee_limit)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Draft for TronDraft {
    fn gas_required(&self) -> u64 {
        self.unsigned.fee_limit
    }

    fn cost(&self) -> U256 {
        self.priced.cost
    }

    async fn seal(&self, position: u64, intent: &Intent<'_>) -> Result<Sealed, SealError> {
        let signed = self.signed(position, intent).await?;
        Ok(Sealed::new(position, intent.items, signed))
    }

    fn committed(&self, position: u64, attempt: &Durable<Attempt>) {
        let hash = attempt.get().signed.hash;
        let Priced { spend, reserved, .. } = &self.priced;
        reserved.signed(position, |_| SpendOf::signed(hash, *spend));
    }
}

impl TronDraft {
    /// There is no nonce to tell two equal calls apart, so the position goes into the timestamp,
    /// which nodes do not look at: no two positions share a transaction id.
    pub(super) async fn signed(
        &self,
        position: u64,
        intent: &Intent<'_>,
    ) -> Result<Signed, SealError> {
        let timestamp_ms = self.unsigned.timestamp_ms.saturating_add(position);
        let unsigned = Unsigned { timestamp_ms, ..self.unsigned.clone() };
        sign(&unsigned, &self.signing, &self.profile, intent).await
    }
}
