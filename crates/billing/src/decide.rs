//! The next step for an undecided batch: a total function of the slot, a look at the chain and the time. The
//! function reads no clock, socket or database; lane and watcher carry its decisions out.

use super::{Attempt, AttemptKind, BlockRef, Execution, Foreign, Landed, Slot, Verdict};

/// The result of a look at the chain for one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// In no block. It may be in a pool, and it can still land.
    Absent(FeeStanding),
    /// The slot's place is taken in a block that can still be undone.
    Included,
    /// An attempt of ours took the slot's place, and its block is final.
    Final(Landed, Execution),
    /// Another transaction of the account took the slot's place, and its block is final.
    Usurped(Foreign),
    /// No attempt ever landed, and none can any more: proven by this final block.
    Never(BlockRef),
    /// No transaction took the slot's place, and it is used all the same: as of this final block no attempt
    /// can land. It tells nothing of whom that let charge.
    UsedUp(BlockRef),
    /// The slot's place is taken, and for this reason it cannot be told for good by what: the claims
    /// stay.
    Unsettled(Unsettled),
    /// The look failed. It taught nothing.
    Nothing,
}

impl Sighting {
    /// Tells whether a block holds the slot's place; none where the look did not tell.
    pub fn in_block(&self) -> Option<bool> {
        match self {
            Self::Absent(_) | Self::Never(_) | Self::UsedUp(_) => Some(false),
            Self::Included | Self::Final(..) | Self::Usurped(_) => Some(true),
            Self::Unsettled(Unsettled::Late) | Self::Nothing => None,
            Self::Unsettled(Unsettled::Disputed | Unsettled::NoRecord | Unsettled::NoState) => {
                Some(true)
            }
        }
    }
}

/// The words about a transaction whose time is over.
const LATE: &str = "its time is over: that it cannot land any more is proven by blocks that are not \
     irrevocable yet, or that its nodes do not tell alike; then it is renewed or ends";

/// Why it cannot be told what became of a slot whose place is taken, or whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsettled {
    /// Nodes tell different records of one final block.
    Disputed,
    /// Too few nodes show the record of a transaction that is in a final block.
    NoRecord,
    /// The nodes have forgotten the state of the final block, and show no record of an attempt.
    NoState,
    /// Its time is over, and it is not proven yet whether a block holds it (TRON).
    Late,
}

impl Unsettled {
    /// The sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Disputed => "its nodes tell different records of one final block: see nodes",
            Self::NoRecord => {
                "it is in a final block, and too few nodes show the record of it: use nodes with \
                 history"
            }
            Self::Late => LATE,
            Self::NoState => {
                "its nonce is used, its nodes show no record of it, and they have forgotten the \
                 state of the final block: use a node that keeps more of it"
            }
        }
    }
}

/// The standing of an absent slot's newest attempt against what the chain asks now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeeStanding {
    /// Nothing is known that keeps it from landing.
    Fair,
    /// It bids less than the chain asks.
    Underpriced,
    /// The account cannot pay for it.
    Starved,
    /// Its time is over by the newest block, and it may have landed all the same (TRON).
    Late,
    /// A node shows it in a block, and too few others do: it may have landed, so it is offered on and
    /// never replaced.
    Shown,
}

/// Why a node would not take a transaction. Chooses what to do next, and proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeRejection {
    /// A transaction with this nonce is in a block already.
    NonceTaken,
    /// The node holds another transaction in this place.
    Replaced,
    /// It bids less than the node takes.
    Underpriced,
    /// The account cannot pay for it.
    Starved,
    /// One that comes before it is missing.
    Gap,
    /// The node cannot at this moment.
    Busy,
    /// The node never takes such a one; others may.
    Policy,
    /// No node can take these bytes as they are.
    Structural,
    /// It would revert now.
    Reverts,
    /// Its time is over for the node (TRON).
    Late,
}

/// The facts remembered of a slot besides its attempts. Times are those of this machine, ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Since its bytes were last offered.
    pub since_offer_ms: u64,
    /// Since its newest attempt was signed.
    pub since_attempt_ms: u64,
    /// Since it was accepted.
    pub since_accepted_ms: u64,
    /// The nodes' rejection of the newest attempt when that was last offered.
    pub rejection: Option<NodeRejection>,
    /// True if a transaction that was learnt from the chain has made one of its charges.
    pub charged_elsewhere: bool,
}

/// The rules by which open slots are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The time for which a slot is left alone after it was offered, ms.
    pub offer_again_ms: u64,
    /// When to sign another transaction for a batch.
    pub again: Again,
    /// The protection of an open batch against a second transaction for its charges.
    pub protection: Protection,
}

/// The protection of an open batch against a second transaction for its charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The nonce: of all transactions with it the chain takes one.
    Nonce,
    /// None (TRON): a transaction that the journal does not know would land beside the batch.
    Free,
    /// None, and an account may have done what the journal does not know.
    Doubtful,
}

impl Step {
    /// Returns true if bytes that charge may leave the process by this step.
    pub fn sends(&self) -> bool {
        match self {
            Self::OfferAgain | Self::SignAgain(_) | Self::Renew(_) => true,
            Self::Wait | Self::Settle(_) | Self::Alarm(_) => false,
        }
    }
}

impl Rules {
    /// The rules while it is not settled that the journal knows everything that its account did. On TRON a forgotten
    /// transaction may have charged what an open batch charges, or may renew it: so the batch is neither offered nor
    /// renewed.
    #[must_use]
    pub fn until_all_is_known(self) -> Self {
        match self.protection {
            Protection::Nonce => self,
            Protection::Free | Protection::Doubtful => self.until_other_accounts_are_known(),
        }
    }

    /// The rules while another account of the chain may have charged what an open batch of this one charges: no nonce
    /// protects the batch from that account's transactions, so nothing of the batch is offered or signed.
    #[must_use]
    pub fn until_other_accounts_are_known(self) -> Self {
        Self { again: Again::Never, protection: Protection::Doubtful, ..self }
    }
}

/// When to sign another transaction for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Never.
    Never,
    /// Never for its charges: one batch, one hash. A batch whose charges somebody else has made is cancelled, since its
    /// bytes go nowhere any more and its place is not used otherwise.
    OnlyCancel,
    /// In the same place, while the earlier ones can still land: the place is taken once.
    Replace {
        /// The time for which the first attempt is left alone, ms; twice as long for each one after it.
        after_ms: u64,
        /// The most attempts that a batch may have, cancels not counted.
        most: usize,
        /// After how long a batch that cannot land is given up, ms. None: it waits.
        cancel_after_ms: Option<u64>,
    },
    /// Only when every earlier one is proven dead.
    Renew {
        /// The most attempts that a batch may have.
        most: usize,
        /// The time after the batch was accepted within which it is renewed, ms.
        within_ms: u64,
    },
}

/// The next step for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Look again later.
    Wait,
    /// Offer the newest attempt's bytes to the chain again.
    OfferAgain,
    /// Sign another attempt, commit it, and offer it.
    SignAgain(AttemptKind),
    /// Every attempt is dead: sign another one, commit it, and offer it. If the call no longer passes, write this
    /// end down instead.
    Renew(Verdict),
    /// The chain has decided: write it down.
    Settle(Verdict),
    /// A person should look: the account's place was used by something that is not ours, and that does not
    /// tell whom it charged. Which transaction that is, where it is known.
    Alarm(Option<Landed>),
}

/// Decides.
pub fn next_step<A: AsRef<Attempt>>(
    slot: &Slot<A>,
    sighting: Sighting,
    memory: Memory,
    rules: Rules,
) -> Step {
    match sighting {
        Sighting::Final(landed, execution) => settle(slot, landed, execution),
        Sighting::Usurped(Foreign::Opaque(landed)) => Step::Alarm(Some(landed)),
        Sighting::UsedUp(block) => Step::Settle(Verdict::UsedUp(block)),
        Sighting::Usurped(Foreign::Readable(tx)) => Step::Settle(Verdict::Usurped(tx)),
        Sighting::Never(block) => late(slot, block, memory, rules.again),
        Sighting::Absent(standing) => absent(slot, standing, memory, rules),
        Sighting::Included | Sighting::Unsettled(_) | Sighting::Nothing => Step::Wait,
    }
}

fn settle<A: AsRef<Attempt>>(slot: &Slot<A>, landed: Landed, execution: Execution) -> Step {
    let ours = slot.attempts.iter().map(AsRef::as_ref).find(|a| a.signed.hash == landed.hash);
    Step::Settle(match (ours.map(|attempt| attempt.kind), execution) {
        (Some(AttemptKind::Bill), Execution::Succeeded(items)) => Verdict::Charged(landed, items),
        (Some(AttemptKind::Bill), Execution::Reverted) => Verdict::Reverted(landed),
        (Some(AttemptKind::Cancel), _) => Verdict::Cancelled(landed),
        (None, _) => return Step::Alarm(None),
    })
}

/// Every attempt is dead: one more, or the end.
fn late<A>(slot: &Slot<A>, block: BlockRef, memory: Memory, again: Again) -> Step {
    let expired = Verdict::Expired(block);
    match again {
        Again::Renew { most, within_ms }
            if slot.attempts.count() < most
                && memory.since_accepted_ms <= within_ms
                && !memory.charged_elsewhere =>
        {
            Step::Renew(expired)
        }
        Again::Never | Again::OnlyCancel | Again::Replace { .. } | Again::Renew { .. } => {
            Step::Settle(expired)
        }
    }
}

fn absent<A: AsRef<Attempt>>(
    slot: &Slot<A>,
    standing: FeeStanding,
    memory: Memory,
    rules: Rules,
) -> Step {
    let newest = slot.attempts.newest().as_ref().kind;
    let charged_twice = newest == AttemptKind::Bill && memory.charged_elsewhere;
    let again = match rules.again {
        // It may have landed.
        _ if standing == FeeStanding::Shown => None,
        Again::Replace { .. } => replaced(slot, standing, memory, rules.again),
        Again::OnlyCancel if charged_twice => Some(AttemptKind::Cancel),
        Again::OnlyCancel | Again::Never | Again::Renew { .. } => None,
    };
    if let Some(kind) = again {
        return Step::SignAgain(kind);
    }
    let due = memory.since_offer_ms >= rules.offer_again_ms;
    match rules.protection {
        Protection::Nonce | Protection::Free if due && !charged_twice => Step::OfferAgain,
        Protection::Nonce | Protection::Free | Protection::Doubtful => Step::Wait,
    }
}

/// The transaction that is signed in the place of an absent slot's newest attempt; none if that is left alone.
fn replaced<A: AsRef<Attempt>>(
    slot: &Slot<A>,
    standing: FeeStanding,
    memory: Memory,
    again: Again,
) -> Option<AttemptKind> {
    let Again::Replace { after_ms, most, cancel_after_ms } = again else { return None };
    let newest = slot.attempts.newest().as_ref().kind;
    let made = slot.attempts.count();
    let refused = memory.rejection == Some(NodeRejection::Structural);
    let hopeless = refused
        || memory.charged_elsewhere
        || cancel_after_ms.is_some_and(|after| memory.since_accepted_ms >= after);
    let doubled = 1_u64.checked_shl(u32::try_from(made).unwrap_or(u32::MAX)).map(|n| n >> 1);
    let patience = after_ms.saturating_mul(doubled.unwrap_or(u64::MAX));
    let low = standing == FeeStanding::Underpriced
        || memory.rejection == Some(NodeRejection::Underpriced);
    if hopeless && newest == AttemptKind::Bill {
        return Some(AttemptKind::Cancel);
    }
    // A cancel has given up the batch: it is raised without end, up to the ceilings. Its gas was estimated wrongly if nodes
    // refuse its form, and is estimated anew.
    let cancels = newest == AttemptKind::Cancel;
    let helps = low || (refused && cancels);
    let may = made < most || cancels;
    (helps && may && memory.since_attempt_ms >= patience).then_some(newest)
}

impl AsRef<Self> for Attempt {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests;
