//! `--dry-run`: what the Signer says it would charge, without a trace here or there.

use super::answer::{Answer, read};
use super::entry::Due;
use super::run::{Peers, Setup};
use super::{ScheduleError, say};
use crate::signer::{BillRequest, Family, Mode, Verdict};
use futures_util::{StreamExt as _, pin_mut};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, VecDeque};

/// The entries of one chain, as they were listed.
type Entries = Vec<(i64, Box<RawValue>)>;

/// The result of a batch.
enum Came {
    /// It was said what would be charged.
    Told,
    /// Parts of so many entries have to be asked about instead.
    Split(usize),
    /// No verdict.
    Silence,
}

/// Reads the list and has every batch of it rehearsed. Takes no account of pauses: it tells what
/// would become of everybody who is listed.
pub(super) async fn rehearse(peers: &Peers, setup: &Setup) -> Result<(), ScheduleError> {
    let mut chains: BTreeMap<i64, Entries> = BTreeMap::new();
    let entries = peers.platform.chargeable();
    pin_mut!(entries);
    while let Some(entry) = entries.next().await {
        let entry = entry?;
        match Due::read(entry.raw()) {
            Ok(due) => {
                chains.entry(due.chain).or_default().push((due.id, entry.raw().to_owned()));
            }
            Err(why) => say(&format!("cannot be read: {why}"))?,
        }
    }
    let mut silent = 0_usize;
    for (chain, due) in chains {
        let Some(family) = setup.families.get(&chain) else {
            say(&format!("chain {chain}: {} due, and no --chain {chain}=…", due.len()))?;
            continue;
        };
        let mut batches: VecDeque<_> = due.chunks(setup.limits.entries.max(1)).collect();
        while let Some(batch) = batches.pop_front() {
            match rehearse_batch(peers, chain, *family, batch).await? {
                Came::Told => {}
                Came::Split(entries) => batches.extend(batch.chunks(entries.max(1))),
                Came::Silence => silent = silent.saturating_add(batch.len()),
            }
        }
    }
    match silent {
        0 => Ok(()),
        some => Err(ScheduleError::Faults(format!("{some} due without a verdict"))),
    }
}

async fn rehearse_batch(
    peers: &Peers,
    chain: i64,
    family: Family,
    batch: &[(i64, Box<RawValue>)],
) -> Result<Came, ScheduleError> {
    let ids: Vec<i64> = batch.iter().map(|(id, _)| *id).collect();
    let list: Vec<&RawValue> = batch.iter().map(|(_, raw)| raw.as_ref()).collect();
    let request = BillRequest { request_id: None, mode: Mode::Partial, dry_run: true, list: &list };
    let Ok(body) = request.body() else { return Ok(Came::Silence) };
    let verdict = match peers.signer.bill(family, &body).await {
        Ok(verdict) => verdict,
        Err(error) => {
            let why = format!("chain {chain}: {} without a verdict: {error}", list.len());
            if let Answer::Split { entries, .. } = read(&ids, Err(error)) {
                return Ok(Came::Split(entries));
            }
            return say(&why).map(|()| Came::Silence);
        }
    };
    let would_charge = match &verdict {
        Verdict::Rehearsed(rehearsal) => rehearsal.would_charge.len(),
        Verdict::Sent(_) | Verdict::Refused(..) => 0,
    };
    say(&format!("chain {chain}: {would_charge} of {} would be charged", list.len()))?;
    for failure in verdict.failures() {
        say(&format!("  {}: {}", failure.subscribe_id, failure.fail_reason))?;
    }
    Ok(Came::Told)
}
