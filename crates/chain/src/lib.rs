#![doc = include_str!("../README.md")]

mod account;
mod base;
mod block_on_record;
mod commitments;
mod confirm;
mod disputes;
mod error;
pub mod evm;
mod head;
mod history;
mod inspect;
mod moved;
mod multicall;
mod payer;
mod profiles;
mod proofs;
mod reads;
mod ready;
mod records;
mod requests;
mod simulation;
pub mod tron;
mod units;
mod vitals;

pub use account::{NotConnected, Signatory, SigningAccount};
pub use base::ChainBase;
pub use block_on_record::{BlockOnRecord, NotShown, SolidBlock};
pub use disputes::LastingDispute;
pub use error::{CallFault, ChainError, OddAnswer, Standstill, TooLong, Unanswered};
pub use history::{
    AccountHistory, BlockHistory, BlockScan, MostSent, NonceHistory, ReadFrom, RevocableCall,
    RevocableCalls, ScanRange,
};
pub use inspect::{Finding, Weight};
pub use moved::{TokenOfWallet, TxOnRecord};
pub use payer::Payer;
pub use proofs::ProofMode;
pub use ready::{Budget, ClockGap, TooDear, Unready};
pub use records::Records;
pub use requests::Requests;
pub use signing::{SealError, SealFault};
pub use units::TokenUnits;
pub use vitals::{FreeResources, Headroom, Vitals};

use ::node::NodeView;
use alloy::primitives::{Address, B256, U256};
use async_trait::async_trait;
use billing::{
    Admitted, Attempt, AttemptKind, Charge, Checked, Family, NodeRejection, NonceView,
    PlatformChainId, Sighting, SigningHalt, Slot,
};
use contract::{Looked, Profile};
use journal::{Durable, Past, Sealed};
use policy::Intent;
use std::fmt;
use std::time::Duration;

/// The facts about a chain that never change while the Signer runs.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The platform's id of it.
    pub id: PlatformChainId,
    /// Its name in logs and tables.
    pub name: String,
    /// Its family.
    pub family: Family,
    /// Its EIP-155 id; on TRON, the last four bytes of its genesis block's id.
    pub network: u64,
    /// The billing contract.
    pub contract: Address,
    /// The account that signs.
    pub signer: Address,
    /// Number of transactions that may wait for a block at once.
    pub max_in_flight: u64,
    /// Interval between looks at the chain.
    pub poll_interval: Duration,
    /// Interval between looks while nothing is open.
    pub idle_poll_interval: Duration,
}

/// The last look at the head of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadView {
    /// The newest block's number.
    pub head: u64,
    /// Its timestamp, Unix seconds. Deadlines count from it; nothing is signed by one that is far from
    /// this machine's clock.
    pub head_time: u64,
    /// The timestamp of the newest final block, Unix seconds, that as many nodes bear out as have to
    /// agree; 0 before there is one. Claims without a period end by it, and by nothing else.
    pub final_time: u64,
    /// Number of transactions of the account that the chain counts; none where it counts none (TRON).
    pub nonces: Option<NonceView>,
}

/// The extent of a look at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadExtent {
    /// Everything by which something may be signed.
    Whole,
    /// The news of open batches, and of other uses of the account: every node is asked for its newest block and for
    /// the account's uses, and for the rest only if that can have moved something. Coins and prices stay as they
    /// were.
    News,
}

/// The meaning of a node's answer to a broadcast. An answer that is not on a short list is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// The node has it.
    Accepted,
    /// No node takes it now. No proof that it cannot land.
    Refused {
        /// The nodes' rejection of the transaction.
        rejection: NodeRejection,
        /// Their words.
        message: String,
    },
    /// The answer was lost or makes no sense: it may have been taken.
    Unknown(String),
}

/// All that a preflight learnt.
#[derive(Debug)]
pub struct Preflight {
    /// Every charge with what the chain says about it.
    pub checked: Vec<Checked>,
    /// The estimate needed to draft a transaction for the charges that passed.
    pub estimate: Estimate,
}

/// The use of a simulated call, and its number of charges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Gas (EVM) or energy (TRON) that the simulated call used. 0 when none went through: then the
    /// draft has to run one.
    pub used: u64,
    /// Number of charges in the simulated call.
    pub charges: usize,
}

/// Checks that calldata of so many charges has at most `most` bytes: no node takes more.
fn check_length(calldata: &[u8], charges: usize, most: usize) -> Result<(), ChainError> {
    if calldata.len() <= most {
        return Ok(());
    }
    let fits = charges.saturating_mul(most).checked_div(calldata.len());
    Err(ChainError::BatchTooLarge { max: fits.unwrap_or(0) })
}

impl Estimate {
    /// Returns true if the estimate holds for `charges` of its charges. A contract that reports each charge does no more
    /// for some of a batch than for all of it; one that reverts as a whole has to be seen to pass with exactly these.
    fn holds_for(&self, charges: usize, profile: &Profile) -> bool {
        let fewer = profile.per_item() && charges < self.charges;
        self.used > 0 && (charges == self.charges || fewer)
    }

    /// Returns the estimate for one such charge alone: its share at least, and the whole call at most; in between,
    /// as much as `usual`, since the fixed cost of a call is not known.
    fn alone(&self, usual: &Self) -> Self {
        let charges = u64::try_from(self.charges).unwrap_or(u64::MAX).max(1);
        let used = usual.used.max(self.used.div_ceil(charges)).min(self.used);
        Self { used, charges: 1 }
    }
}

/// A transaction that lacks nothing but its place in the lane and the signature.
#[async_trait]
pub trait Draft: Send + Sync + fmt::Debug {
    /// The most that the transaction may cost: gas on EVM, sun on TRON.
    fn gas_required(&self) -> u64;

    /// The same in the chain's own coin: gas limit times price, wei; on TRON the fee limit and what
    /// its bandwidth may burn, sun.
    fn cost(&self) -> U256;

    /// Signs it for `position`, if the policy finds in its final bytes what was meant. Nothing comes of
    /// that but what the journal makes of it; it may be signed for another position afterwards.
    async fn seal(&self, position: u64, intent: &Intent<'_>) -> Result<Sealed, SealError>;

    /// Is told that this attempt, which was signed for `position`, is committed: from now on that place is
    /// what the transaction may cost.
    fn committed(&self, position: u64, attempt: &Durable<Attempt>);
}

/// One chain with one signing account, as far as the families of chains differ. [`ChainBase`] has the rest.
#[async_trait]
pub trait Chain: Send + Sync + fmt::Debug {
    /// Returns the part of the chain that is alike in both families.
    fn base(&self) -> &ChainBase;

    /// Returns the source that tells what the account did.
    fn history(&self) -> AccountHistory<'_>;

    /// Returns the number of transactions that may wait for a block at once, as things stand.
    fn max_in_flight(&self) -> u64 {
        self.base().account.facts.max_in_flight
    }

    /// Returns the reason why no request could be billed, by the last look at the head. None if nothing stands in
    /// the way.
    fn head_unready(&self) -> Option<ChainError>;

    /// Returns the reason why nothing new should be signed on the chain, whatever the journal knows. None if
    /// nothing speaks against it.
    fn halt(&self) -> Option<SigningHalt> {
        None
    }

    /// Returns the other values of the last look, for metrics and warnings; none before the first look.
    fn vitals(&self) -> Option<Vitals>;

    /// Returns how records of final blocks are judged where that depends on the nodes; none on TRON, whose blocks are
    /// always proven.
    fn proof_mode(&self) -> Option<ProofMode> {
        None
    }

    /// Returns the endpoints that have to bear out final blocks beside the nodes; none on TRON.
    fn witnesses(&self) -> Vec<NodeView> {
        Vec::new()
    }

    /// Looks at the head, and publishes it.
    async fn poll_head(&self, extent: HeadExtent) -> Result<HeadView, ChainError>;

    /// Asks the contract whether it lets the account bill, if it can be asked to bill nobody.
    async fn ask_permission(&self) -> Result<(), ChainError>;

    /// Asks the profile's `lookup` for every entry, in one call. None for an entry that the contract does not know.
    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError>;

    /// Returns the units in which people count a token, by one node's word: for eyes alone. None if the token does
    /// not tell.
    async fn token_units(&self, token: Address) -> Result<Option<TokenUnits>, ChainError>;

    /// Reads all funds and simulates the billing call, in parallel.
    async fn preflight(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError>;

    /// Drafts the billing of `good`, which passed the preflight.
    async fn draft(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<Box<dyn Draft>, ChainError>;

    /// Drafts another attempt for an open slot. A [`AttemptKind::Bill`] charges exactly what the
    /// slot's first attempt does.
    async fn redraft(
        &self,
        slot: &Slot<Durable<Attempt>>,
        kind: AttemptKind,
    ) -> Result<Box<dyn Draft>, ChainError>;

    /// Offers committed bytes to the chain.
    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery;

    /// Looks for every slot, in order.
    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting>;

    /// Restores what an earlier process knew, once at the start: how the account's batches ended lately, the
    /// profiles that batches were signed by, and the open batches, whose money is committed.
    fn restore_state(&self, past: Past, open: &[Slot<Durable<Attempt>>]);

    /// Returns the block of a transaction that was decided, from the first node that shows it.
    async fn block_of(&self, transaction: B256) -> Result<BlockOnRecord, NotShown>;

    /// Returns the findings of `check`: everything that a billing needs of the chain.
    async fn inspect(&self) -> Vec<Finding>;
}
