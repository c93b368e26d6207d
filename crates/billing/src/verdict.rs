//! The end of a batch, and the effects of transactions in final blocks: one type for each case, none that holds
//! what cannot be.

use super::{BatchState, ChargeTerms, FailCode, Item, TxRecord};
use alloy::primitives::{Address, B256, U256};
use std::fmt;
use std::str::FromStr;

/// A final block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// Its number.
    pub number: u64,
    /// Its timestamp, Unix seconds.
    pub time: u64,
    /// Its hash; none on TRON, whose blocks prove themselves, and of what was imported.
    pub hash: Option<B256>,
}

/// A transaction in a final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Its hash.
    pub hash: B256,
    /// The block.
    pub block: BlockRef,
    /// The outcome and the cost of the call; none where too few nodes have told them.
    pub record: Option<TxRecord>,
}

/// The effect of a successful billing transaction on one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemOutcome {
    /// Charged.
    Charged,
    /// Charged, and the event tells more of it than the claim, or something else.
    ChargedAsTold(TakenAsTold),
    /// The contract reports that it was not charged: the claim is free again.
    Failed {
        /// Why, in our words.
        code: FailCode,
        /// The contract's own number, if it gave one.
        detail: Option<String>,
    },
    /// The transaction succeeded but reports nothing on this item: the claim stays.
    Unproven,
}

/// The facts that a contract's event tells of a charge, where its claim does not say the same. A field is none
/// where the claim does, or where the event is silent. For a claim without a wallet or a token, only the event
/// tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenAsTold {
    /// The amount taken, base units.
    pub amount: Option<U256>,
    /// The wallet from which the amount was taken.
    pub wallet: Option<Address>,
    /// The token that was taken.
    pub token: Option<Address>,
}

impl TakenAsTold {
    /// Returns true if the claim says everything that the event says.
    pub fn is_claimed(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the part that differs from the claimed terms, and is no mere addition to them.
    #[must_use]
    pub fn beside(self, claimed: &ChargeTerms) -> Self {
        Self {
            amount: self.amount,
            wallet: self.wallet.filter(|_| claimed.wallet.is_some()),
            token: self.token.filter(|_| claimed.token.is_some()),
        }
    }

    /// The words of its text that tell of this wallet.
    pub fn of_wallet(wallet: Address) -> String {
        format!("wallet={wallet:#x}")
    }

    /// Returns the facts that either of two events tells.
    fn or(self, other: Self) -> Self {
        Self {
            amount: self.amount.or(other.amount),
            wallet: self.wallet.or(other.wallet),
            token: self.token.or(other.token),
        }
    }
}

impl fmt::Display for TakenAsTold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.amount.map(|amount| format!("amount={amount}")),
            self.wallet.map(Self::of_wallet),
            self.token.map(|token| format!("token={token:#x}")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// The text tells of no charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCharge;

impl FromStr for TakenAsTold {
    type Err = NoCharge;

    fn from_str(text: &str) -> Result<Self, NoCharge> {
        let mut taken = Self::default();
        for part in text.split(' ') {
            match part.split_once('=').ok_or(NoCharge)? {
                ("amount", told) => taken.amount = Some(told.parse().map_err(|_| NoCharge)?),
                ("wallet", told) => taken.wallet = Some(told.parse().map_err(|_| NoCharge)?),
                ("token", told) => taken.token = Some(told.parse().map_err(|_| NoCharge)?),
                _ => return Err(NoCharge),
            }
        }
        Ok(taken)
    }
}

/// The outcome of the call of a transaction in a final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// The call succeeded, with its effect on each item, in the order of the contract call. A transaction that
    /// bills nobody has no items.
    Succeeded(Vec<ItemOutcome>),
    /// It reverted: it did nothing.
    Reverted,
}

/// A transaction of the signing account that the journal does not know, in a final block, and of
/// which it can be told whom it charged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignTx {
    /// The place that it took in the lane.
    pub position: u64,
    /// Its hash and block.
    pub landed: Landed,
    /// The effect of the transaction.
    pub effect: ForeignEffect,
}

/// The effect of a transaction that the journal does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignEffect {
    /// It called a billing contract.
    Billed {
        /// That contract: claims are those of a contract.
        contract: Address,
        /// The items that the call was to charge, in the order of the contract call.
        items: Vec<Item>,
        /// The outcome of the call.
        execution: Execution,
    },
    /// It charged nobody through a billing contract.
    Other,
}

impl ForeignEffect {
    /// Returns the effect to assume of a transaction that can be read in two ways: everybody charged by one reading
    /// counts as charged.
    pub fn worse_of(
        one: Result<Self, Opaque>,
        other: Result<Self, Opaque>,
    ) -> Result<Self, Opaque> {
        match (one, other) {
            (
                Ok(Self::Billed { contract, items, execution }),
                Ok(Self::Billed { contract: called, items: same, execution: other }),
            ) => {
                let alike = (contract, &items) == (called, &same);
                let execution = execution.worse_of(other).filter(|_| alike).ok_or(Opaque)?;
                Ok(Self::Billed { contract, items, execution })
            }
            (Ok(billed @ Self::Billed { .. }), _) | (_, Ok(billed @ Self::Billed { .. })) => {
                Ok(billed)
            }
            (Err(Opaque), _) | (_, Err(Opaque)) => Err(Opaque),
            (Ok(Self::Other), Ok(Self::Other)) => Ok(Self::Other),
        }
    }

    /// Returns the effect of a transaction that did `one` at a billing contract and `other` at another. If the
    /// transaction charged through both, it is opaque: no journal keeps the claims of two contracts in one batch.
    pub fn and(one: Result<Self, Opaque>, other: Result<Self, Opaque>) -> Result<Self, Opaque> {
        match (one, other) {
            (Ok(Self::Other), told) | (told, Ok(Self::Other)) => told,
            (Err(Opaque) | Ok(Self::Billed { .. }), Err(Opaque) | Ok(Self::Billed { .. })) => {
                Err(Opaque)
            }
        }
    }
}

impl Execution {
    /// None where one says that it did nothing and the other that it did something.
    fn worse_of(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Reverted, Self::Reverted) => Some(Self::Reverted),
            (Self::Succeeded(one), Self::Succeeded(other)) if one.len() == other.len() => {
                let pairs = one.into_iter().zip(other);
                Some(Self::Succeeded(pairs.map(|(one, other)| one.worse_of(other)).collect()))
            }
            (Self::Reverted | Self::Succeeded(_), _) => None,
        }
    }
}

impl ItemOutcome {
    /// Returns what was taken, where that differs from the claim.
    pub fn taken_otherwise(&self, item: &Item) -> TakenAsTold {
        match self {
            Self::ChargedAsTold(taken) => taken.beside(&item.terms),
            Self::Charged | Self::Failed { .. } | Self::Unproven => TakenAsTold::default(),
        }
    }

    fn worse_of(self, other: Self) -> Self {
        match (self, other) {
            (Self::ChargedAsTold(one), Self::ChargedAsTold(other)) => {
                Self::ChargedAsTold(one.or(other))
            }
            (told @ Self::ChargedAsTold(_), _) | (_, told @ Self::ChargedAsTold(_)) => told,
            (Self::Charged, _) | (_, Self::Charged) => Self::Charged,
            (Self::Unproven, _) | (_, Self::Unproven) => Self::Unproven,
            (failed @ Self::Failed { .. }, Self::Failed { .. }) => failed,
        }
    }
}

/// The transaction may have charged somebody through the billing contract, and it cannot be told
/// whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque;

/// A transaction of the signing account that the journal does not know, in a final block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It can be told what it did.
    Readable(ForeignTx),
    /// It may have charged somebody, and it cannot be told whom.
    Opaque(Landed),
}

impl Foreign {
    /// The transaction that landed at `position` with this effect.
    pub fn new(position: u64, landed: Landed, effect: Result<ForeignEffect, Opaque>) -> Self {
        match effect {
            Ok(effect) => Self::Readable(ForeignTx { position, landed, effect }),
            Err(Opaque) => Self::Opaque(landed),
        }
    }

    /// Its hash and block.
    pub fn landed(&self) -> &Landed {
        match self {
            Self::Readable(tx) => &tx.landed,
            Self::Opaque(landed) => landed,
        }
    }
}

/// The takers of a range of places in an account's line, in the order of the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceTakers {
    /// The transactions that took the first of them.
    pub found: Vec<Foreign>,
    /// True if no transaction took the place behind those, and the place is used all the same.
    pub then_used_up: bool,
}

/// The end of a batch. Final blocks alone tell each of these ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A billing attempt succeeded, with its effect on each item, in the slot's order.
    Charged(Landed, Vec<ItemOutcome>),
    /// A billing attempt reverted: nobody was charged.
    Reverted(Landed),
    /// A cancel landed: nobody was charged.
    Cancelled(Landed),
    /// Another transaction of the account took the batch's place: no attempt can land.
    Usurped(ForeignTx),
    /// No transaction took the batch's place, and the place is used all the same, as of this block: no attempt can
    /// land. On EVM an authorization of EIP-7702 does that. Nobody knows whom the authorization let charge, so the
    /// claims stay until a person says.
    UsedUp(BlockRef),
    /// No attempt landed while it could, and none can any more: proven by this block.
    Expired(BlockRef),
}

impl Verdict {
    /// Returns the outcome of each item, in the slot's order; nothing where nobody was charged.
    pub fn outcomes(&self) -> &[ItemOutcome] {
        match self {
            Self::Charged(_, outcomes) => outcomes,
            Self::Reverted(_)
            | Self::Cancelled(_)
            | Self::Usurped(_)
            | Self::UsedUp(_)
            | Self::Expired(_) => &[],
        }
    }

    /// The state of a batch that ended so.
    pub fn state(&self) -> BatchState {
        match self {
            Self::Charged(..) => BatchState::Charged,
            Self::Reverted(_) => BatchState::Reverted,
            Self::Cancelled(_) => BatchState::Cancelled,
            Self::Usurped(_) | Self::UsedUp(_) => BatchState::Usurped,
            Self::Expired(_) => BatchState::Expired,
        }
    }

    /// The transaction that decided, if one did.
    pub fn landed(&self) -> Option<&Landed> {
        match self {
            Self::Charged(landed, _) | Self::Reverted(landed) | Self::Cancelled(landed) => {
                Some(landed)
            }
            Self::Usurped(tx) => Some(&tx.landed),
            Self::UsedUp(_) | Self::Expired(_) => None,
        }
    }

    /// Its hash.
    pub fn hash(&self) -> Option<B256> {
        self.landed().map(|landed| landed.hash)
    }

    /// The block that decided.
    pub fn block(&self) -> BlockRef {
        match self {
            Self::Charged(landed, _) | Self::Reverted(landed) | Self::Cancelled(landed) => {
                landed.block
            }
            Self::Usurped(tx) => tx.landed.block,
            Self::UsedUp(block) | Self::Expired(block) => *block,
        }
    }
}
