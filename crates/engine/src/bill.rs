//! One request, from its entries to the answer. The file reads in the order in which it happens.

use super::charge_spans::SPAN_TARGET;
use super::lane::Lane;
use super::ready_batch::{ReadyBatch, Uncharged};
use super::repeat::{Asked, unclaimed};
use super::room::{late, room};
use super::sign::{NotCommitted, commit};
use super::verdict::{Answer, DryRun, NamedTransaction, NoVerdict, Progress, Sent, Stop};
use billing::{
    Admitted, Attempt, AttemptKind, Charge, Digits, FailCode, Order, Period, Slot, SubscribeId,
    judge,
};
use journal::Durable;
use policy::Refusal;
use std::collections::{HashMap, HashSet};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, info_span, instrument};

/// Bills an order. Once the batch is committed the answer is [`Answer::Sent`], whatever the nodes
/// say and however late it is.
pub(crate) async fn bill(
    lane: &Lane,
    order: Order,
    deadline: Instant,
) -> Result<Answer, NoVerdict> {
    let order = admit(lane, order)?;
    match bill_admitted(lane, &order, deadline).await {
        Err(NoVerdict::Policy { why, .. }) if !order.dry_run => Err(refused_whole(order, why)),
        answered => answered,
    }
}

/// The policy refuses a request, whoever is in it. The rule alone is told of each: its words may have sums
/// in them that differ from one minute to the next, and the same refusal is to be the same.
fn refused_whole(order: Order<Admitted>, why: Refusal) -> NoVerdict {
    let rule = format!("rule {}", why.rule);
    let all = order.entries.iter();
    let all = all.map(|entry| entry.refused(FailCode::Policy).because(rule.clone()));
    NoVerdict::Policy { refused: all.chain(order.refused).collect(), why }
}

async fn bill_admitted(
    lane: &Lane,
    order: &Order<Admitted>,
    deadline: Instant,
) -> Result<Answer, NoVerdict> {
    let asked = Asked::by(lane, order);
    asked.is_one_request(lane).await?;
    let free = timeout_at(deadline, lane.account.reservations().hold(&order.entries)).await;
    let held = free.map_err(|_| NoVerdict::Deadline)?;
    loop {
        let built = timeout_at(deadline, prepare(lane, &asked, order.clone())).await;
        let ready = match built.map_err(|_| late(lane))? {
            Ok(ready) => ready,
            Err(Stop::Answer(answer)) => return Ok(answer),
            Err(Stop::NoVerdict(why)) => return Err(why),
            Err(Stop::Again) => continue,
        };
        match commit(lane, &asked, &ready, deadline).await {
            Ok(slot) => {
                lane.counts.lock().accepted(slot.items.len(), slot.accepted_ms);
                drop(held);
                let broadcast = info_span!(target: SPAN_TARGET, "broadcast");
                lane.offer(&slot).instrument(broadcast).await;
                return Ok(sent(lane, &slot, spelt(&ready.good), ready.rest));
            }
            Err(NotCommitted::BuildAgain) => {}
            Err(NotCommitted::NoVerdict(why)) => return Err(why),
        }
        if Instant::now() >= deadline {
            return Err(late(lane));
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

#[instrument(target = SPAN_TARGET, skip_all)]
async fn prepare(lane: &Lane, asked: &Asked, order: Order<Admitted>) -> Result<ReadyBatch, Stop> {
    let (mode, dry_run) = (order.mode, order.dry_run);
    let profile = lane.chain.profile();
    let order = unclaimed(lane, asked, order, |entry| profile.stated_period(entry)).await?;
    let policy = lane.chain.policy();
    lane.unpaused()?;
    lane.key_signs()?;
    policy.admit_batch(order.entries.len())?;
    let head = room(lane).await?;
    let (charges, mut rest) = complete(lane, asked, order).await?;
    if charges.is_empty() {
        return Err(asked.refused(lane, rest.refused, rest.earlier).await);
    }
    policy.admit(&charges)?;
    lane.journal.ready()?;
    let simulate = info_span!(target: SPAN_TARGET, "simulate");
    let preflight = lane.chain.preflight(charges).instrument(simulate).await?;
    let judged = judge(preflight.checked);
    rest.refused.extend(judged.refused);
    if judged.good.is_empty() || mode.stops_for(&rest.refused) {
        return Err(asked.refused(lane, rest.refused, rest.earlier).await);
    }
    let drafting = info_span!(target: SPAN_TARGET, "draft");
    let draft = lane.chain.draft(&judged.good, &preflight.estimate).instrument(drafting).await?;
    let mut counts =
        policy.counts(judged.good.iter().map(|charge| (charge.token, charge.amount)))?;
    counts.push(policy.fee(AttemptKind::Bill, draft.cost()));
    if dry_run {
        lane.journal.room(lane.id().chain, counts, lane.journal.now_ms()).await?;
        let rehearsed = DryRun {
            facts: lane.chain.facts().clone(),
            would_charge: spelt(&judged.good),
            refused: rest.refused,
            earlier: rest.earlier,
            gas_required: Some(draft.gas_required()),
        };
        return Err(Stop::Answer(Answer::DryRun(rehearsed)));
    }
    Ok(ReadyBatch { good: judged.good, rest, draft, counts, head })
}

/// Fills in what the chain's lookup knows, and refuses what it contradicts.
async fn complete(
    lane: &Lane,
    asked: &Asked,
    mut order: Order<Admitted>,
) -> Result<(Vec<Charge>, Uncharged), Stop> {
    let profile = lane.chain.profile();
    let entries = std::mem::take(&mut order.entries);
    let looked = if profile.has_lookup() && !entries.is_empty() {
        let look_up = info_span!(target: SPAN_TARGET, "look up");
        lane.chain.lookup(&entries).instrument(look_up).await?
    } else {
        entries.iter().map(|_| None).collect()
    };
    let mut charges = Vec::with_capacity(entries.len());
    for (entry, looked) in entries.into_iter().zip(looked) {
        match profile.complete(entry.clone(), looked.as_ref()) {
            Ok(charge) => {
                charges.push(charge);
                // As the caller stated it: what the chain says now need not be what was charged.
                order.entries.push(entry);
            }
            Err(refused) => order.refused.push(refused),
        }
    }
    if profile.has_lookup() {
        // The lookup may have supplied the period, and that period may be claimed.
        let periods = charges.iter().map(|charge| (charge.entry.subscribe, charge.period));
        let periods: HashMap<SubscribeId, Period> = periods.collect();
        let period = |entry: &Admitted| periods.get(&entry.subscribe).copied();
        order = unclaimed(lane, asked, order, period).await?;
        let free: HashSet<SubscribeId> =
            order.entries.iter().map(|entry| entry.subscribe).collect();
        charges.retain(|charge| free.contains(&charge.entry.subscribe));
    }
    Ok((charges, Uncharged { refused: order.refused, earlier: order.satisfied }))
}

/// The subscriptions of `charges`, as the caller wrote them.
fn spelt(charges: &[Charge]) -> Vec<Digits> {
    charges.iter().map(|charge| charge.entry.spelling.subscribe.clone()).collect()
}

fn sent(
    lane: &Lane,
    slot: &Slot<Durable<Attempt>>,
    subscriptions: Vec<Digits>,
    rest: Uncharged,
) -> Answer {
    Answer::Sent(Sent {
        family: lane.chain.facts().family,
        origin: lane.origin(),
        transaction: NamedTransaction::Signed(slot.attempts.newest().get().signed.clone()),
        progress: Progress::New,
        subscriptions,
        failed: rest.refused,
        earlier: rest.earlier,
    })
}
