//! `--dry-run`: what the Signer says it would charge, without a trace here or there.

use super::entry::Due;
use super::run::{Peers, Setup};
use super::{ScheduleError, say};
use crate::signer::{BillRequest, Family, Mode, Verdict};
use futures_util::{StreamExt as _, pin_mut};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Reads the list and has every batch of it rehearsed. Takes no account of pauses: it tells what
/// would become of everybody who is listed.
pub(super) async fn rehearse(peers: &Peers, setup: &Setup) -> Result<(), ScheduleError> {
    let mut chains: BTreeMap<i64, Vec<(i64, Box<RawValue>)>> = BTreeMap::new();
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
    for (chain, due) in chains {
        let Some(family) = setup.families.get(&chain) else {
            say(&format!("chain {chain}: {} due, and no --chain {chain}=…", due.len()))?;
            continue;
        };
        for batch in due.chunks(setup.limits.entries.max(1)) {
            let list: Vec<&RawValue> = batch.iter().map(|(_, raw)| raw.as_ref()).collect();
            rehearse_batch(peers, (chain, *family), &list).await?;
        }
    }
    Ok(())
}

async fn rehearse_batch(
    peers: &Peers,
    (chain, family): (i64, Family),
    list: &[&RawValue],
) -> Result<(), ScheduleError> {
    let request = BillRequest { request_id: None, mode: Mode::Partial, dry_run: true, list };
    let Ok(body) = request.body() else { return Ok(()) };
    let verdict = match peers.signer.bill(family, &body).await {
        Ok(verdict) => verdict,
        Err(error) => {
            return say(&format!("chain {chain}: {} without a verdict: {error}", list.len()));
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
    Ok(())
}
