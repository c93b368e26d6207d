//! The log lines that tell how a batch ended, and its span.

use billing::{Item, Verdict};
use journal::Settlement;
use tracing::{Span, error, info, warn};

/// Says how a batch ended and what its transaction cost; louder where that was paid for nothing.
pub(super) fn tell_end(chain: &str, end: &Settlement, hash: Option<&str>) {
    let record = end.verdict.landed().and_then(|landed| landed.record.as_ref());
    let (batch, block, state) =
        (end.batch.0, end.verdict.block().number, end.verdict.state().word());
    let result = record.map(|record| record.ending.word());
    let (used, fee) = (record.map(|r| r.used), record.map(|r| r.fee.to_string()));
    let why = record.and_then(|record| record.message.as_deref());
    match &end.verdict {
        Verdict::Usurped(_) => warn!(
            chain,
            batch,
            tx.hash = hash,
            "a transaction that was not signed here took a batch's nonce: the key is used \
             elsewhere, or the journal was an old copy"
        ),
        Verdict::UsedUp(_) => error!(
            chain,
            batch,
            block,
            "no transaction has a batch's nonce, and the nonce is used: an EIP-7702 authorization? It \
             is not known whom that let charge; its claims stay until a person says"
        ),
        Verdict::Charged(..)
        | Verdict::Reverted(_)
        | Verdict::Cancelled(_)
        | Verdict::Expired(_) => {}
    }
    if let Some(advice) = record.and_then(|record| record.ending.advice()) {
        warn!(
            chain,
            batch,
            tx.hash = hash,
            block,
            result,
            why,
            used,
            fee,
            "batch {state}: {advice}"
        );
    } else {
        info!(chain, batch, tx.hash = hash, block, result, used, fee, "batch {state}");
    }
}

/// Calls a person where the chain charged otherwise than was claimed.
pub(super) fn tell_what_was_taken(
    chain: &str,
    end: &Settlement,
    items: &[Item],
    hash: Option<&str>,
) {
    for (place, (item, outcome)) in items.iter().zip(end.verdict.outcomes()).enumerate() {
        let taken = outcome.taken_otherwise(item);
        if !taken.is_claimed() {
            error!(
                chain,
                batch = end.batch.0,
                tx.hash = hash,
                item = place,
                %taken,
                "the contract charged something else than was claimed: find out why before more is billed"
            );
        }
    }
}

/// Says in the span from the commit to the final block how the batch ended.
pub(super) fn tell_span(settlement: &Span, end: &Settlement, hash: Option<&str>) {
    settlement.record("signer.state", end.verdict.state().word());
    // OpenTelemetry has no unsigned numbers.
    settlement
        .record("signer.block", i64::try_from(end.verdict.block().number).unwrap_or(i64::MAX));
    settlement.record("tx.hash", hash);
}
