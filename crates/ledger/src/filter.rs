//! The charges and refusals that a reader of the ledger wants, and their places in it.

use alloy::primitives::Address;
use billing::{BatchId, CallerLabel, FailCode, PlanId, PlatformChainId, SubscribeId, UserHash};
use journal::{Billing, Line};

/// The word for charges that the chain has not decided.
pub(crate) const OPEN: &str = "open";

/// The place of a charge or a refusal in the ledger. The ledger is in the order of these places, and an entry in it
/// never moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPlace {
    /// The batch of the charge; of a refusal the newest batch when it was written down.
    pub batch: BatchId,
    /// The place within the batch, or behind it.
    pub item: PlaceInBatch,
}

/// Charges are in a batch, and refusals behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceInBatch {
    /// The charge's place in the contract call, from 0.
    Charge(usize),
    /// The number of a refusal, which rises through the whole ledger.
    Refusal(i64),
}

impl LedgerPlace {
    /// The place behind everything of a batch.
    pub(crate) fn behind(batch: i64) -> Self {
        Self { batch: BatchId(batch), item: PlaceInBatch::Refusal(i64::MAX) }
    }

    /// The place of a batch's first charge.
    pub(crate) fn first_of(batch: i64) -> Self {
        Self { batch: BatchId(batch), item: PlaceInBatch::Charge(0) }
    }
}

/// In which direction the ledger is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerOrder {
    /// From the first charge on.
    Oldest,
    /// From the last charge back.
    #[default]
    Newest,
}

/// Which charges are wanted: all that fit everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerFilter {
    /// Of this subscription.
    pub subscribe: Option<SubscribeId>,
    /// Of this plan.
    pub plan: Option<PlanId>,
    /// Of this user.
    pub user: Option<UserHash>,
    /// Paid from this wallet.
    pub wallet: Option<Address>,
    /// On this chain.
    pub chain: Option<PlatformChainId>,
    /// On one of these chains; none where it may be on any.
    pub chains: Option<Vec<PlatformChainId>>,
    /// Asked for by the caller of this label.
    pub caller: Option<CallerLabel>,
    /// In this state, in the word of [`Line::state`]; refusals are in the state `refused`.
    pub state: Option<String>,
    /// Refused, or failed on chain, for this reason.
    pub reason: Option<FailCode>,
    /// Accepted at this time or later, Unix ms.
    pub from_ms: Option<i64>,
    /// Accepted before this time, Unix ms.
    pub until_ms: Option<i64>,
    /// Decided by a block of this time or later, Unix seconds. No refusal is.
    pub block_from_s: Option<i64>,
    /// Decided by a block before this time, Unix seconds.
    pub block_until_s: Option<i64>,
}

impl LedgerFilter {
    /// Returns true if an index tells in which batches something may be wanted. Without one a step looks at batches one
    /// after the other.
    pub fn has_index(&self) -> bool {
        self.subscribe.is_some()
            || self.user.is_some()
            || self.wallet.is_some()
            || self.state.as_deref() == Some(OPEN)
    }

    pub(crate) fn wants(&self, billing: &Billing, line: &Line) -> bool {
        let (key, chain) = (line.item.key, billing.origin.lane.chain);
        self.chains.as_ref().is_none_or(|chains| chains.contains(&chain))
            && self.subscribe.is_none_or(|wanted| wanted == line.item.subscribe)
            && self.plan.is_none_or(|wanted| wanted == key.plan)
            && self.user.is_none_or(|wanted| wanted == key.user)
            && self.wallet.is_none_or(|wanted| line.is_of(wanted))
            && self.state.as_deref().is_none_or(|wanted| wanted == line.state(billing.state))
            && self
                .reason
                .is_none_or(|wanted| line.failure().is_some_and(|(code, _)| code == wanted))
    }
}

impl LedgerOrder {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Oldest => "oldest",
            Self::Newest => "newest",
        }
    }

    /// The word for it in SQL.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Oldest => "ASC",
            Self::Newest => "DESC",
        }
    }

    /// The place behind everything of a batch that was looked at.
    pub(crate) fn behind(self, batch: i64) -> LedgerPlace {
        match self {
            Self::Oldest => LedgerPlace::behind(batch),
            Self::Newest => LedgerPlace::first_of(batch),
        }
    }

    /// The place before everything of a batch that was not.
    pub(crate) fn before(self, batch: i64) -> LedgerPlace {
        match self {
            Self::Oldest => LedgerPlace::behind(batch.saturating_sub(1)),
            Self::Newest => LedgerPlace::first_of(batch.saturating_add(1)),
        }
    }

    /// Returns true if `place` comes after `after`.
    pub(crate) fn is_later(self, place: LedgerPlace, after: LedgerPlace) -> bool {
        match self {
            Self::Oldest => place > after,
            Self::Newest => place < after,
        }
    }
}
