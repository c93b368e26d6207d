#![doc = include_str!("../README.md")]

mod account;
mod confirm;
mod desk;
mod disputes;
mod error;
pub mod evm;
mod head;
mod inspect;
mod moved;
mod multicall;
mod payer;
mod profiles;
mod promises;
mod reads;
mod ready;
mod recall;
mod records;
mod requests;
mod seal;
mod signing;
mod trial;
pub mod tron;
mod units;
mod vitals;

pub use account::{NotConnected, Signatory, SigningAccount};
pub use desk::Desk;
pub use disputes::LastingDispute;
pub use error::{CallFault, ChainError, OddAnswer, Standstill, TooLong, Unanswered};
pub use inspect::{Finding, Inspect, Weight};
pub use moved::{TokenOfWallet, TxOnRecord};
pub use payer::Payer;
pub use ready::{ClockGap, Purse, TooDear, Unready};
pub use recall::{ReadFrom, Recall, Young, YoungCall};
pub use records::Records;
pub use requests::Requests;
pub use seal::{SealError, SealFault};
pub use units::TokenUnits;
pub use vitals::{FreeResources, Headroom, Vitals};

use ::node::{NodeTraffic, NodeView, Trust};
use alloy::primitives::{Address, B256, Selector, U256};
use async_trait::async_trait;
use billing::{
    Admitted, Attempt, AttemptKind, Charge, Checked, Family, NodeRejection, NonceView, PlaceTakers,
    PlatformChainId, Sighting, SigningHalt, Slot,
};
use contract::{Looked, Profile};
use journal::{Binding, Durable, Network, Past, Sealed};
use policy::{Meant, Policy};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use tokio::sync::watch;

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
pub struct Pulse {
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

/// The most transactions that nodes know our account to have sent, what waits in their pools
/// included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MostSent {
    /// Number of transactions: every position below it may be taken.
    pub count: u64,
    /// The nodes that know of so many, by their labels.
    pub told_by: Vec<String>,
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
        said: String,
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

impl Estimate {
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
    async fn seal(&self, position: u64, meant: &Meant<'_>) -> Result<Sealed, SealError>;

    /// Is told that this attempt, which was signed for `position`, is committed: from now on that place is
    /// what the transaction may cost.
    fn committed(&self, position: u64, attempt: &Durable<Attempt>);
}

/// One chain with one signing account.
#[async_trait]
pub trait Chain: Send + Sync + fmt::Debug {
    /// Returns the facts that never change.
    fn facts(&self) -> &Facts;

    /// Returns the profile by which the billing contract is called.
    fn profile(&self) -> &Profile;

    /// Returns the binding by which the journal has to know the chain.
    fn binding(&self) -> Binding {
        let Facts { id, family, network, contract, .. } = *self.facts();
        let (network, naming) = (Network { family, id: network }, self.profile().period_naming());
        Binding { chain: id, network, contract, naming }
    }

    /// The function that charges, by the profile that a batch was signed by.
    fn function(&self, slot: &Slot<Durable<Attempt>>) -> Selector;

    /// Returns the policy on what may be signed.
    fn policy(&self) -> &Policy;

    /// Returns true if the account's key is here. Without the key, nothing can be drafted.
    fn signs(&self) -> bool;

    /// Returns the place of the key in a word: `here`, in a process `apart`, or in a `store`.
    fn key_held(&self) -> Option<&'static str>;

    /// Returns the number of transactions that may wait for a block at once, as things stand.
    fn max_in_flight(&self) -> u64 {
        self.facts().max_in_flight
    }

    /// The last look at the head; none before the first.
    fn pulse(&self) -> watch::Receiver<Option<Pulse>>;

    /// Returns the error that every request gets now, as far as the last look and the last signature tell. None if
    /// nothing is known to stand in the way.
    fn unready(&self) -> Option<ChainError> {
        None
    }

    /// Has a key store that did not sign, or was not asked for long, sign a test.
    async fn look_after_key(&self) {}

    /// Asks the contract whether it lets the account bill, where it can be asked to bill nobody.
    async fn look_after_permission(&self) {}

    /// Returns the other values of the last look, for metrics and warnings; none before the first look.
    fn vitals(&self) -> Option<Vitals>;

    /// Returns the shortest wait before the next look, so that the requests that providers allow in a day last.
    fn spread(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the traffic to the chain's nodes, for metrics.
    fn traffic(&self) -> Vec<NodeTraffic>;

    /// Its nodes, for people.
    fn nodes(&self) -> Vec<NodeView>;

    /// Returns the disputes between the chain's nodes that have lasted too long.
    fn disputes(&self) -> Vec<LastingDispute>;

    /// On whose word something is concluded that frees a claim.
    fn trust(&self) -> Trust;

    /// Looks at the head, and publishes what it sees.
    async fn beat(&self) -> Result<Pulse, ChainError>;

    /// The same for a lane that signs nothing and waits for what it has open: every node is asked for its
    /// newest block and for uses of the account, and for the rest only where that can have moved something. Coins and
    /// prices are as old as the last [`Self::beat`].
    async fn glance(&self) -> Result<Pulse, ChainError> {
        self.beat().await
    }

    /// The most transactions that a node knows the account to have sent, what waits in its pool included,
    /// unless as many others deny it as have to agree. Fails where fewer than that tell: their silence is
    /// no word that nothing waits.
    async fn undenied_sent(&self) -> Result<MostSent, ChainError>;

    /// Returns the number of transactions that the account had sent by the newest final block that is not later
    /// than `at_ms` (Unix ms of this machine), however wrong this machine's clock may be while something is signed,
    /// as far as the required number of nodes knows. None if nothing counts the transactions.
    async fn sent_before(&self, _at_ms: i64) -> Result<Option<u64>, ChainError> {
        Ok(None)
    }

    /// The most transactions that any single node knows the account to have sent. One is enough: what
    /// its pool holds can land, whatever the others say. Fails while a node that is fit to be asked
    /// does not tell.
    async fn most_sent(&self) -> Result<MostSent, ChainError>;

    /// Asks the profile's `lookup` for every entry, in one call. None where it does not know one.
    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError>;

    /// In which units people count a token, by one node's word: for eyes alone. None where it does not tell.
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

    /// Returns the transactions that took the positions from `from` up to, not including, `to`, all of them in
    /// final blocks.
    async fn strangers(&self, from: u64, to: u64) -> Result<PlaceTakers, ChainError>;

    /// Reads on in the final blocks since a little before a time, or after a block that was read, for
    /// transactions of our account, and tells all that was found so far. Each call reads a bounded
    /// number of blocks. Nothing to do where [`Chain::strangers`] tells.
    async fn recall(&self, _from: ReadFrom) -> Result<Recall, ChainError> {
        Ok(Recall::NOTHING)
    }

    /// Is told that everything that was found is learnt: what is read next begins anew.
    async fn recalled(&self) {}

    /// Reads the transactions of our account that call a contract, in irrevocable blocks from `since_ms` up to the
    /// account's last use at `used_ms` (Unix ms of blocks). Each call reads a bounded number of blocks. The effects
    /// of the transactions are not looked at. Does nothing where positions tell more.
    async fn used_between(&self, _since_ms: i64, _used_ms: i64) -> Result<Recall, ChainError> {
        Ok(Recall::NOTHING)
    }

    /// The same, for what has landed in irrevocable blocks since the first call; complete when nothing that was
    /// signed before that call can land any more. Nothing to do where positions tell more.
    async fn arrivals(&self) -> Result<Recall, ChainError> {
        Ok(Recall::NOTHING)
    }

    /// Returns the calls of our account that are in blocks which are not irrevocable yet, or wait in pools, as any
    /// node tells. A transaction among `ours` waits by right, and no pool is asked about it; if `ours` is none, no
    /// pool is asked at all. Fails while a node that is fit to be asked does not tell of its blocks. Does nothing
    /// where positions tell more.
    async fn young(&self, _ours: Option<&BTreeSet<B256>>) -> Result<Young, ChainError> {
        Ok(Young::default())
    }

    /// When the account last used the chain, by what is irrevocable, Unix ms of its blocks: the latest that any
    /// node tells. None where it never did, and where positions tell more. Fails while a node that is fit
    /// to be asked does not tell.
    async fn last_used(&self) -> Result<Option<u64>, ChainError> {
        Ok(None)
    }

    /// Is told, once at start, how the batches of its account ended lately, by which profiles batches were
    /// signed, and which are open: their money is promised.
    fn recollect(&self, past: Past, open: &[Slot<Durable<Attempt>>]);

    /// Why nothing new should be signed on the chain, whatever the journal knows; none where nothing
    /// speaks against it.
    fn halt(&self) -> Option<SigningHalt> {
        None
    }

    /// Looks for every slot, in order.
    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting>;
}
