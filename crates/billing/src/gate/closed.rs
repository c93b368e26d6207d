//! Why a lane takes no new work, and the sentence that says so.

use super::OnlyFollows;
use crate::{Family, SigningHalt, spell_address};
use alloy::primitives::{Address, B256};
use std::fmt;

/// Why a lane takes no new work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The account has sent more transactions than the journal knows.
    Ahead {
        /// The account.
        signer: Address,
        /// The number of transactions that the account has sent.
        sent: u64,
        /// The number of transactions that the journal knows.
        known: u64,
    },
    /// The journal is an old copy, and its open batches have to end before pools are asked: a pool
    /// counts up to the first gap, and an open batch that it has lost hides what came after.
    OpenBatchesFirst,
    /// A pool holds transactions of the account that the journal does not know.
    InPools {
        /// The account.
        signer: Address,
        /// The number of them.
        unknown: u64,
        /// The nodes that say so, by their labels.
        told_by: Vec<String>,
    },
    /// The journal may not know what the account did, and the blocks of that time are being read.
    Reading {
        /// Why it may not.
        gap: Gap,
        /// The percentage of that time that has been read.
        percent: u64,
    },
    /// Somebody else signs with the key now: the account was used by what this process did not sign (TRON).
    KeyElsewhere {
        /// The account.
        signer: Address,
    },
    /// This transaction of the account may have charged somebody, and it cannot be told whom.
    Opaque(B256),
    /// No transaction has this place, and it is used all the same: whom that let charge cannot be told.
    UsedUp {
        /// The account.
        signer: Address,
        /// The place.
        position: u64,
    },
    /// A transaction that no node names for good has the place of an open batch.
    UnnamedTaker {
        /// The account.
        signer: Address,
        /// The place.
        position: u64,
    },
    /// A new lane waits until everything that the account has sent is final.
    NotFinal {
        /// The account.
        signer: Address,
    },
    /// The account was used later than the journal knows of, or may be about to be. A batch that is open may be
    /// why: blocks tell (TRON).
    UsedLater,
    /// Something speaks against signing anything new, whatever the journal knows (TRON).
    Halted(SigningHalt),
    /// It ends what it has begun, and begins nothing.
    OnlyFollows {
        /// The account, as its chain spells it.
        account: String,
        /// Why.
        why: OnlyFollows,
    },
    /// Another account that has signed on the chain may have charged customers that the journal does not
    /// know.
    OtherAccountUnreconciled {
        /// That account, as its chain spells it.
        other: String,
    },
    /// No look at another account that signs, or has signed, on the chain has succeeded for too long.
    OtherAccountUnseen {
        /// That account, as its chain spells it.
        other: String,
    },
}

/// Why a journal may not know what an account did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// It is new, and the account was used before.
    NewJournal,
    /// It is an old copy.
    OldCopy,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NewJournal => {
                "this journal is new and the account has a history: what it did lately"
            }
            Self::OldCopy => "the journal is an old copy: what was billed since",
        })
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ahead { signer, sent, known } => write!(
                f,
                "the account {signer} has sent {sent} transactions but the journal knows {known}: the \
                 key is used elsewhere, or the journal is an old copy. Each is learnt once it is final"
            ),
            Self::OpenBatchesFirst => {
                f.write_str("the journal is an old copy: its open batches end first")
            }
            Self::InPools { signer, unknown, told_by } => write!(
                f,
                "{unknown} transactions of the account {signer} that the journal does not know wait in \
                 a pool, says {}: the lane opens when they have landed. If that node is wrong, take it \
                 out of `rpc`",
                told_by.join(" and ")
            ),
            Self::Reading { gap, percent } => write!(
                f,
                "{gap} is being learnt from the chain's blocks, and nothing that was signed may be able to \
                 land any more ({percent} % of that time is read)"
            ),
            Self::KeyElsewhere { signer } => write!(
                f,
                "the key is in use elsewhere now: the account {} billed by transactions that were signed after \
                 this process began, and not by it. Find the other Signer and stop it, or both charge the same \
                 customers. The lane opens when nothing like the newest of them can land any more",
                spell_address(Family::Tvm, *signer)
            ),
            Self::Opaque(hash) => write!(
                f,
                "the account's transaction {hash} called the contract, and nobody can tell whom it \
                 charged: the lane stays closed, since any of its charges may be made twice"
            ),
            Self::UsedUp { signer, position } => f.write_str(&used_up(*signer, *position)),
            Self::UnnamedTaker { signer, position } => {
                f.write_str(&unnamed_taker(*signer, *position))
            }
            Self::NotFinal { signer } => write!(
                f,
                "the account {signer} has sent transactions that are not final yet, or its nodes \
                 have forgotten the state of the final block: the lane begins when all that they \
                 count now is final"
            ),
            Self::UsedLater => f.write_str(
                "the account was used later than the journal knows of, or a pool does not tell what of it \
                 waits there: blocks are read until open batches explain it, or it is learnt",
            ),
            Self::Halted(why) => why.fmt(f),
            Self::OnlyFollows { account, why } => write!(f, "the account {account}: {why}"),
            Self::OtherAccountUnreconciled { other } => write!(
                f,
                "it is not known yet whether the account {other}, which has signed here before, has \
                 billed what the journal does not know: `accounts` or `following` in /health/ready \
                 tells why"
            ),
            Self::OtherAccountUnseen { other } => f.write_str(&other_unseen(other)),
        }
    }
}

fn used_up(signer: Address, position: u64) -> String {
    format!(
        "no transaction of the account {signer} has the nonce {position}, and the nonce is used: an EIP-7702 \
         authorization that was signed with its key? Nobody can tell whom that let charge: the lane stays closed \
         until a person says, with `claims import`, or with `resolve` for each subscription of the billing that had \
         the nonce"
    )
}

fn unnamed_taker(signer: Address, position: u64) -> String {
    format!(
        "the nonce {position} of the account {signer} is used, and its nodes do not tell yet by which transaction, or \
         whom that charged: `heldUp` of the billing tells why. Use nodes with history, or say with `claims import` \
         whom it charged"
    )
}

fn other_unseen(other: &str) -> String {
    format!(
        "no look at the account {other}, which signs on this chain or has signed on it, has succeeded for too long: \
         whoever else has its key may have charged the same customers. `accounts` or `following` in /health/ready tells \
         why"
    )
}
