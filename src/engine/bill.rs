//! One request, from its entries to the answer. The file reads in the order in which it happens.

use super::lane::Lane;
use crate::billing::{
    Admitted, Attempt, AttemptKind, Charge, Closed, Order, PlatformChainId, Refused, Repeat,
    RequestId, Signed, Slot, Subject, SubscribeId, judge, repeat_of,
};
use crate::chain::{ChainError, Draft, Facts, Pulse};
use crate::journal::{AcceptError, Billing, Durable, JournalError, Proposal, Recorded, Scope};
use crate::policy::{Count, Meant, Refusal};
use alloy::primitives::Address;
use std::collections::HashSet;
use tokio::time::{Instant, timeout_at};

/// What a caller is told.
#[derive(Debug)]
pub enum Answer {
    /// Code 1: the transaction is durable and was offered to the chain.
    Sent(Sent),
    /// Code 2: nothing was signed, nothing was sent.
    Refused(Vec<Refused>),
    /// A dry run: nothing was signed, nothing was sent.
    Rehearsed(Rehearsed),
}

/// A durable transaction.
#[derive(Debug)]
pub struct Sent {
    /// The chain, the contract and the account that signed.
    pub facts: Facts,
    /// The transaction.
    pub signed: Signed,
    /// Every subscription that it charges.
    pub subscriptions: Vec<SubscribeId>,
    /// In partial mode, those that it does not.
    pub failed: Vec<Refused>,
}

/// What would have happened.
#[derive(Debug)]
pub struct Rehearsed {
    /// The chain, the contract and the account that would have signed.
    pub facts: Facts,
    /// What would have been charged.
    pub would_charge: Vec<SubscribeId>,
    /// What would not.
    pub refused: Vec<Refused>,
    /// The gas limit (EVM) or sun ceiling (TRON); none when nothing would have been signed.
    pub gas_required: Option<u64>,
}

/// Why there is no verdict on any subscription. Every variant means: nothing was signed or sent.
#[derive(Debug, thiserror::Error)]
pub enum NoVerdict {
    /// No such chain.
    #[error("no chain {0} is configured")]
    UnknownChain(PlatformChainId),
    /// The contract takes one subscription at a time.
    #[error(
        "the contract of this chain charges one subscription per request: post them one by one"
    )]
    OnePerRequest,
    /// The lane takes no new work.
    #[error("this chain takes no new work: {0}")]
    LaneClosed(Closed),
    /// The lane has not seen its chain yet, for this reason.
    #[error("this chain takes no new work: {0}")]
    LaneOpening(String),
    /// The lane changed while the batch was built.
    #[error("this chain takes no new work: {0}")]
    NotAccepted(AcceptError),
    /// The deadline passed first.
    #[error("the request could not be finished in time: post it again")]
    Deadline,
    /// The chain gave no verdict.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The policy refuses it.
    #[error(transparent)]
    Policy(#[from] Refusal),
    /// The transaction could not be signed.
    #[error("the transaction could not be signed: {0}")]
    Seal(String),
    /// The process is ending.
    #[error("the Signer is shutting down: post it again")]
    ShuttingDown,
}

impl From<AcceptError> for NoVerdict {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Policy(refusal) => refusal.into(),
            AcceptError::Seal(why) => Self::Seal(why),
            AcceptError::Journal(error) => error.into(),
            AcceptError::Claimed
            | AcceptError::LaneFull
            | AcceptError::NoLane
            | AcceptError::Behind => Self::NotAccepted(error),
        }
    }
}

/// Why building a batch stopped short of one.
enum Stop {
    Answer(Answer),
    NoVerdict(NoVerdict),
    /// What was looked up has changed meanwhile.
    Again,
}

impl<E: Into<NoVerdict>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::NoVerdict(error.into())
    }
}

/// A batch that has passed every check.
struct Ready {
    request_id: Option<RequestId>,
    caller: Option<String>,
    good: Vec<Charge>,
    refused: Vec<Refused>,
    draft: Box<dyn Draft>,
    counts: Vec<Count>,
    pulse: Pulse,
}

/// Bills an order. Once the batch is committed the answer is [`Answer::Sent`], whatever the nodes
/// say and however late it is.
pub(crate) async fn bill(
    lane: &Lane,
    order: Order,
    deadline: Instant,
) -> Result<Answer, NoVerdict> {
    let order = admit(lane, order)?;
    let free = timeout_at(deadline, lane.reservations.hold(&order.entries)).await;
    let held = free.map_err(|_| NoVerdict::Deadline)?;
    loop {
        let built = timeout_at(deadline, build(lane, order.clone())).await;
        let ready = match built.map_err(|_| NoVerdict::Deadline)? {
            Ok(ready) => ready,
            Err(Stop::Answer(answer)) => return Ok(answer),
            Err(Stop::NoVerdict(why)) => return Err(why),
            Err(Stop::Again) => continue,
        };
        let failed = ready.refused.clone();
        match commit(lane, ready).await {
            Ok(slot) => {
                let slot = lane.track(slot);
                drop(held);
                lane.offer(&slot).await;
                return Ok(sent(lane, &slot, failed));
            }
            // Another's claim, or the last free place in line, was committed in between.
            Err(AcceptError::Claimed | AcceptError::LaneFull) => {}
            Err(other) => return Err(other.into()),
        }
        if Instant::now() >= deadline {
            return Err(NoVerdict::Deadline);
        }
    }
}

/// Reads every entry as the contract profile does, and refuses those that no call could be made from.
fn admit(lane: &Lane, order: Order) -> Result<Order<Admitted>, NoVerdict> {
    let profile = lane.chain.profile();
    let order = order.read(|entry| profile.admit(entry));
    if profile.single() && order.entries.len() > 1 {
        return Err(NoVerdict::OnePerRequest);
    }
    Ok(order)
}

async fn build(lane: &Lane, order: Order<Admitted>) -> Result<Ready, Stop> {
    let (mode, dry_run) = (order.mode, order.dry_run);
    let (request_id, caller) = (order.request_id.clone(), order.caller.clone());
    let stop = |refused| Stop::Answer(refusal(lane, dry_run, refused));
    let order = unclaimed(lane, order).await?;
    let policy = lane.chain.policy();
    lane.unpaused()?;
    policy.admit_batch(order.entries.len())?;
    let pulse = lane.room().await?;
    let (charges, mut refused) = complete(lane, order).await?;
    if charges.is_empty() {
        return Err(stop(refused));
    }
    policy.admit(&charges)?;
    lane.journal.ready()?;
    let preflight = lane.chain.preflight(charges).await?;
    let judged = judge(preflight.checked);
    refused.extend(judged.refused);
    if judged.good.is_empty() || mode.stops_for(&refused) {
        return Err(stop(refused));
    }
    let draft = lane.chain.draft(&judged.good, &preflight.estimate).await?;
    let mut counts = policy.counts(&judged.good)?;
    counts.push(policy.fee(AttemptKind::Bill, draft.cost()));
    if dry_run {
        lane.journal.room(lane.id(), counts, lane.journal.now_ms()).await?;
        let gas_required = Some(draft.gas_required());
        let would_charge = judged.good.iter().map(|charge| charge.entry.subscribe).collect();
        let facts = lane.chain.facts().clone();
        let rehearsed = Rehearsed { facts, would_charge, refused, gas_required };
        return Err(Stop::Answer(Answer::Rehearsed(rehearsed)));
    }
    Ok(Ready { request_id, caller, good: judged.good, refused, draft, counts, pulse })
}

/// What of the order nobody has claimed; stops with the earlier batch when all of it is in one.
async fn unclaimed(lane: &Lane, order: Order<Admitted>) -> Result<Order<Admitted>, Stop> {
    let dry_run = order.dry_run;
    let profile = lane.chain.profile();
    let subject = |entry: &Admitted| Subject {
        subscribe: entry.subscribe,
        plan: entry.plan,
        user: entry.user,
        period: profile.stated_period(entry),
    };
    let subjects = order.entries.iter().map(subject).collect();
    let asked: Vec<SubscribeId> = order.entries.iter().map(|entry| entry.subscribe).collect();
    let facts = lane.chain.facts();
    // Unknown time is early time: no guard has run out yet.
    let chain_time = lane.pulse().map_or(0, |pulse| pulse.final_time);
    let scope = Scope { chain: facts.id, contract: facts.contract, chain_time };
    let claims = lane.journal.claims(scope, subjects).await?;
    match repeat_of(order, &claims) {
        Repeat::Of(batch) => {
            let billing = lane.journal.billing(batch).await?.ok_or(JournalError::Lost)?;
            // It may have ended without charging all of them since its claims were read.
            let live = |id: &SubscribeId| {
                billing.items.iter().any(|line| line.live && line.item.subscribe == *id)
            };
            Err(if asked.iter().all(live) {
                Stop::Answer(repeated(lane, &billing))
            } else {
                Stop::Again
            })
        }
        Repeat::Refused(refused) => Err(Stop::Answer(refusal(lane, dry_run, refused))),
        Repeat::Fresh(order) => Ok(order),
    }
}

/// Fills in what the chain's lookup knows, and refuses what it contradicts.
async fn complete(
    lane: &Lane,
    mut order: Order<Admitted>,
) -> Result<(Vec<Charge>, Vec<Refused>), Stop> {
    let profile = lane.chain.profile();
    let entries = std::mem::take(&mut order.entries);
    let looked = if profile.has_lookup() && !entries.is_empty() {
        lane.chain.lookup(&entries).await?
    } else {
        entries.iter().map(|_| None).collect()
    };
    let mut charges = Vec::with_capacity(entries.len());
    for (entry, looked) in entries.into_iter().zip(looked) {
        match profile.complete(entry, looked.as_ref()) {
            Ok(charge) => charges.push(charge),
            Err(refused) => order.refused.push(refused),
        }
    }
    if !profile.has_lookup() {
        return Ok((charges, order.refused));
    }
    // The lookup may have supplied the period, and that period may be claimed.
    order.entries = charges.iter().map(|charge| charge.entry.clone()).collect();
    let order = unclaimed(lane, order).await?;
    let free: HashSet<SubscribeId> = order.entries.iter().map(|entry| entry.subscribe).collect();
    charges.retain(|charge| free.contains(&charge.entry.subscribe));
    Ok((charges, order.refused))
}

async fn commit(lane: &Lane, ready: Ready) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let draft = ready.draft;
    let tokens: Vec<Address> = ready.good.iter().map(|charge| charge.token).collect();
    let contract = lane.chain.facts().contract;
    let proposal = Proposal {
        origin: lane.origin(),
        request_id: ready.request_id,
        caller: ready.caller,
        items: ready.good.iter().map(Charge::item).collect(),
        taken: ready.pulse.nonces.map(|nonces| nonces.mined),
        window: lane.chain.max_in_flight(),
        counts: ready.counts,
        chain_time: ready.pulse.final_time,
        at_ms: lane.journal.now_ms(),
        seal: Box::new(move |position, items| {
            let (kind, tokens) = (AttemptKind::Bill, Some(tokens.as_slice()));
            draft.seal(position, &Meant { kind, contract, items, tokens, cost: draft.cost() })
        }),
    };
    lane.journal.accept(proposal).await
}

fn refusal(lane: &Lane, dry_run: bool, refused: Vec<Refused>) -> Answer {
    if dry_run {
        let facts = lane.chain.facts().clone();
        let would_charge = vec![];
        return Answer::Rehearsed(Rehearsed { facts, would_charge, refused, gas_required: None });
    }
    Answer::Refused(refused)
}

fn sent(lane: &Lane, slot: &Slot<Durable<Attempt>>, failed: Vec<Refused>) -> Answer {
    Answer::Sent(Sent {
        facts: lane.chain.facts().clone(),
        signed: slot.attempts.newest().get().signed.clone(),
        subscriptions: slot.items.iter().map(|item| item.subscribe).collect(),
        failed,
    })
}

fn repeated(lane: &Lane, billing: &Billing) -> Answer {
    let held = billing.items.iter().filter(|line| line.live);
    let signed = match billing.current() {
        Recorded::Signed(attempt) => attempt.get().signed.clone(),
        Recorded::Learnt(hash) => Signed { hash: *hash, raw: vec![], gas_required: 0 },
    };
    Answer::Sent(Sent {
        facts: lane.chain.facts().clone(),
        signed,
        subscriptions: held.map(|line| line.item.subscribe).collect(),
        failed: vec![],
    })
}
