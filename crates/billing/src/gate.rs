//! The gate of a lane, which takes or refuses new work: a total function of what the journal and the chain say
//! about the lane's account. The function reads no clock, socket or database; the lane carries its rulings out.
//!
//! A lane is open only while nothing that the account did can be unknown to the journal: whatever is
//! unknown may have charged somebody.

mod beginning;
mod closed;
mod only_follows;

pub use beginning::first_position;
pub use closed::{Closed, Gap};
pub use only_follows::OnlyFollows;

use alloy::primitives::{Address, B256};

/// The gate of a lane, which takes or refuses new work. The lane's open batches are followed in every case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The chain has not been seen yet.
    Opening,
    /// New work is taken.
    Open,
    /// New work is refused, for this reason.
    Closed(Closed),
}

impl Gate {
    /// Returns true if the journal knows of everything that the account did, as far as the last look told. Then no
    /// other account of the chain has to wait for this one.
    pub fn knows_all(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Opening => false,
            Self::Closed(why) => match why {
                Closed::Halted(_)
                | Closed::OnlyFollows { .. }
                | Closed::OtherAccountUnreconciled { .. }
                | Closed::OtherAccountUnseen { .. } => true,
                Closed::Ahead { .. }
                | Closed::OpenBatchesFirst
                | Closed::InPools { .. }
                | Closed::Reading { .. }
                | Closed::KeyElsewhere { .. }
                | Closed::Opaque(_)
                | Closed::UsedUp { .. }
                | Closed::UnnamedTaker { .. }
                | Closed::NotFinal { .. }
                | Closed::UsedLater => false,
            },
        }
    }

    /// Returns true if the account did something, as far as the last look told, that the journal does not know. The
    /// unknown act may have charged anybody, so no account of the chain signs before it is learnt.
    pub fn tells_of_unknown(&self) -> bool {
        match self {
            Self::Open | Self::Opening => false,
            Self::Closed(why) => match why {
                Closed::Ahead { .. }
                | Closed::InPools { .. }
                | Closed::KeyElsewhere { .. }
                | Closed::Opaque(_)
                | Closed::UsedUp { .. }
                | Closed::UnnamedTaker { .. } => true,
                Closed::OpenBatchesFirst
                | Closed::Reading { .. }
                | Closed::NotFinal { .. }
                | Closed::UsedLater
                | Closed::Halted(_)
                | Closed::OnlyFollows { .. }
                | Closed::OtherAccountUnreconciled { .. }
                | Closed::OtherAccountUnseen { .. } => false,
            },
        }
    }

    /// Returns true if those who were told of `before` should be told of this gate. Progress is no news.
    pub fn is_news_after(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::Closed(Closed::Reading { .. }), Self::Closed(Closed::Reading { .. })) => false,
            (Self::Opening | Self::Open | Self::Closed(_), _) => self != before,
        }
    }
}

/// The numbers of an account's transactions that a chain counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceView {
    /// In blocks.
    pub mined: u64,
    /// In final blocks; never more than `mined`.
    pub finalized: u64,
}

/// The way in which the chain tells what an account has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountView {
    /// It counts the account's transactions (EVM).
    Nonces(NonceView),
    /// Its final blocks have to be read (TRON). None while they were not read in this look.
    Blocks(Option<BlocksRead>),
}

/// The progress of reading the final blocks since the journal's knowledge ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksRead {
    /// The share of the time to be read that has been read, percent.
    pub percent: u64,
    /// True if nothing that was signed before can land any more without being found.
    pub complete: bool,
    /// True if somebody else signs with the key now.
    pub rival: bool,
    /// True if something unknown is in pools, or in blocks that can still be undone.
    pub young: bool,
}

/// The content of the pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolView {
    /// They were not asked in this look.
    NotAsked,
    /// The most transactions of the account that any node knows, and the nodes that know so many.
    Count(u64, Vec<String>),
}

/// The facts known of a lane in one look at the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneView {
    /// The account.
    pub signer: Address,
    /// The state of the gate.
    pub gate: Gate,
    /// Every position below this is known to the journal.
    pub next: u64,
    /// True if the journal may have forgotten what the lane did.
    pub in_doubt: bool,
    /// The number of the account's batches that the chain has not decided: they are decided before anything is
    /// learnt. A charge that another account's batch holds is learnt beside it, and waits for its end.
    pub undecided: usize,
    /// The chain's answer.
    pub account: AccountView,
    /// The pools' answer.
    pub pools: PoolView,
    /// True if the findings of this look have been taken in already.
    pub learnt: bool,
    /// A transaction that may have charged somebody, of which it cannot be told whom.
    pub opaque: Option<B256>,
    /// The place of an open batch that a transaction has which no node names for good. The transaction may be another
    /// one's, and have charged anybody.
    pub unnamed_taker: Option<u64>,
    /// A place that no transaction took, and that is used all the same, of which no person has said whom
    /// that let charge.
    pub used_up: Option<u64>,
}

/// The next step for the gate of a lane. After everything but [`Ruling::Open`] and [`Ruling::Closed`] more is
/// known, and the gate is ruled anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Take new work: nothing that the lane did is unknown.
    Open,
    /// Take none, for this reason.
    Closed(Closed),
    /// Ask who took the positions from `from` up to, not including, `to`, and take in what they did.
    /// The lane is closed meanwhile.
    LearnPositions {
        /// The first position.
        from: u64,
        /// The position after the last.
        to: u64,
        /// The reason meanwhile, unless there is one.
        meanwhile: Closed,
    },
    /// Read on in the final blocks. The lane is closed meanwhile.
    ReadBlocks {
        /// The reason meanwhile, unless there is one.
        meanwhile: Closed,
    },
    /// Take in what was found in the blocks.
    LearnFound,
    /// Ask every node how much its pool holds.
    AskPools(PoolsAsked),
}

/// The choice of the pools that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolsAsked {
    /// The content of one pool counts, unless as many others as have to agree hold less: at a start that nothing
    /// else speaks against, no single node of three keeps a lane from opening.
    Undenied,
    /// The content of any pool counts: it was signed with the account's key, and a single pool can bring it to
    /// land.
    Any,
}

/// Rules.
pub fn rule(lane: &LaneView) -> Ruling {
    if let Some(hash) = lane.opaque {
        return Ruling::Closed(Closed::Opaque(hash));
    }
    if let Some(position) = lane.used_up {
        return Ruling::Closed(Closed::UsedUp { signer: lane.signer, position });
    }
    match lane.account {
        AccountView::Nonces(nonces) => by_nonces(lane, nonces),
        AccountView::Blocks(_) if !lane.in_doubt => Ruling::Open,
        AccountView::Blocks(read) => by_blocks(lane, read),
    }
}

fn by_nonces(lane: &LaneView, nonces: NonceView) -> Ruling {
    let ahead = Closed::Ahead { signer: lane.signer, sent: nonces.mined, known: lane.next };
    // In the order of the account: an open batch may hold a claim that its end sets free and that a
    // later transaction has used since. So what is unknown is learnt after every open batch has ended.
    if nonces.finalized > lane.next && lane.undecided == 0 && !lane.learnt {
        let (from, to) = (lane.next, nonces.finalized);
        return Ruling::LearnPositions { from, to, meanwhile: ahead };
    }
    if nonces.mined.max(nonces.finalized) > lane.next {
        return Ruling::Closed(ahead);
    }
    if let Some(position) = lane.unnamed_taker {
        return Ruling::Closed(Closed::UnnamedTaker { signer: lane.signer, position });
    }
    if lane.in_doubt && lane.undecided > 0 {
        return Ruling::Closed(Closed::OpenBatchesFirst);
    }
    by_pools(lane)
}

/// Pools are asked at a start, since the journal may be a copy that has forgotten what waits there, and
/// after trouble; not in every look.
fn by_pools(lane: &LaneView) -> Ruling {
    let asked = match &lane.gate {
        Gate::Open if !lane.in_doubt => None,
        Gate::Opening if !lane.in_doubt => Some(PoolsAsked::Undenied),
        // Shut for what is no matter of the account: nothing that it did is in question.
        Gate::Closed(_) if !lane.in_doubt && lane.gate.knows_all() => Some(PoolsAsked::Undenied),
        Gate::Open | Gate::Opening | Gate::Closed(_) => Some(PoolsAsked::Any),
    };
    match &lane.pools {
        PoolView::NotAsked => asked.map_or(Ruling::Open, Ruling::AskPools),
        PoolView::Count(count, told_by) => match count.saturating_sub(lane.next) {
            0 => Ruling::Open,
            unknown => {
                let (signer, told_by) = (lane.signer, told_by.clone());
                Ruling::Closed(Closed::InPools { signer, unknown, told_by })
            }
        },
    }
}

fn by_blocks(lane: &LaneView, read: Option<BlocksRead>) -> Ruling {
    // On a chain where positions are only counted, none is taken before the first batch.
    let gap = if lane.next == 0 { Gap::NewJournal } else { Gap::OldCopy };
    let Some(BlocksRead { percent, complete, rival, young }) = read else {
        return Ruling::ReadBlocks { meanwhile: Closed::Reading { gap, percent: 0 } };
    };
    let why = if rival {
        Closed::KeyElsewhere { signer: lane.signer }
    } else {
        Closed::Reading { gap, percent }
    };
    // A batch of the copy may hold a claim that its end sets free and that a transaction in the blocks
    // has used since. The batch ends within the life of its own transaction.
    if lane.undecided > 0 {
        return Ruling::Closed(why);
    }
    if !lane.learnt {
        return Ruling::LearnFound;
    }
    if complete && !young { Ruling::Open } else { Ruling::Closed(why) }
}

#[cfg(test)]
mod tests;
