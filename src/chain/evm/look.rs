//! Where the transactions of undecided batches stand.
//!
//! A slot is decided only by presence: the transaction that took its nonce, found by hash in a
//! block that is canonical and final. Nothing is ever concluded from an error or an absence.

use super::node::{self, Header, Receipt};
use super::{EvmChain, Head};
use crate::billing::{Attempt, AttemptKind, Sighting, Slot, Standing, Winner};
use crate::chain::Places;
use alloy::primitives::B256;
use futures_util::{StreamExt, stream};
use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use tracing::debug;

/// How many questions of one look are asked at once.
const AT_ONCE: usize = 8;

/// What the node knows of one transaction; none where it knows nothing.
type Found = Option<Receipt>;

impl EvmChain {
    /// Looks for every slot, in order.
    pub(super) async fn sightings<A>(&self, slots: &[&Slot<A>]) -> Vec<Sighting>
    where
        A: AsRef<Attempt> + Sync,
    {
        let Ok(head) = self.current().await else {
            return slots.iter().map(|_| Sighting::Nothing).collect();
        };
        let settled = slots.iter().filter(|slot| slot.position < head.places.settled);
        let hashes = settled
            .flat_map(|slot| slot.attempts.iter().map(|attempt| attempt.as_ref().signed.hash));
        let found = self.receipts(hashes.collect()).await;
        let headers = self.headers(&found).await;
        slots.iter().map(|slot| self.sighting(slot, &head, &found, &headers)).collect()
    }

    /// What the node knows of each transaction. Those that it did not answer for are left out.
    async fn receipts(&self, hashes: BTreeSet<B256>) -> HashMap<B256, Found> {
        let asked = hashes.into_iter().map(async |hash| {
            let found = node::receipt(self.parts.fleet.best(), hash).await;
            found
                .inspect_err(|error| debug!(tx.hash = %hash, %error, "no answer"))
                .ok()
                .map(|found| (hash, found))
        });
        stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
    }

    /// The headers of all blocks that the receipts name, each asked once.
    async fn headers(&self, found: &HashMap<B256, Found>) -> HashMap<u64, Header> {
        let numbers: BTreeSet<u64> = found.values().flatten().map(Receipt::block_number).collect();
        let asked = numbers.into_iter().map(async |number| {
            let header = node::header(self.parts.fleet.best(), &node::quantity(number)).await;
            header
                .ok()
                .flatten()
                .filter(|header| header.number() == number)
                .map(|header| (number, header))
        });
        stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
    }

    fn sighting<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        head: &Head,
        found: &HashMap<B256, Found>,
        headers: &HashMap<u64, Header>,
    ) -> Sighting {
        let Places { taken, settled } = head.places;
        if slot.position >= taken {
            return Sighting::Absent(Standing::Fair);
        }
        if slot.position >= settled {
            return Sighting::Included;
        }
        let attempts: Vec<&Attempt> = slot.attempts.iter().map(AsRef::as_ref).collect();
        match winner(&attempts, found, headers, head.final_block) {
            Took::Ours(attempt, receipt, header) => {
                Sighting::Final(self.verdict(slot, attempt, receipt, header))
            }
            Took::NoneOfOurs => Sighting::Unidentified,
            Took::Unclear => Sighting::Nothing,
        }
    }

    fn verdict<A>(
        &self,
        slot: &Slot<A>,
        attempt: &Attempt,
        receipt: &Receipt,
        header: &Header,
    ) -> Winner {
        let succeeded = receipt.succeeded();
        let charges = succeeded && attempt.kind == AttemptKind::Bill;
        let outcomes = if charges {
            let contract = self.parts.facts.contract;
            self.parts.profile.outcomes(contract, &receipt.logs, &slot.items)
        } else {
            Vec::new()
        };
        let (hash, block, block_time) = (attempt.signed.hash, header.number(), header.time());
        Winner { hash, succeeded, block, block_time, outcomes }
    }
}

/// What took a nonce that is taken for good.
#[derive(Debug)]
enum Took<'a> {
    Ours(&'a Attempt, &'a Receipt, &'a Header),
    /// The node answered for every attempt, and knows none.
    NoneOfOurs,
    /// An answer is missing, or does not fit the others.
    Unclear,
}

/// Finds the attempt that took the place. A receipt counts only when its block is the one that the
/// chain holds at that number, and final.
fn winner<'a>(
    attempts: &[&'a Attempt],
    found: &'a HashMap<B256, Found>,
    headers: &'a HashMap<u64, Header>,
    final_block: u64,
) -> Took<'a> {
    let mut complete = true;
    for attempt in attempts {
        match found.get(&attempt.signed.hash) {
            Some(Some(receipt)) => {
                let header = headers.get(&receipt.block_number()).filter(|header| {
                    receipt.transaction_hash == attempt.signed.hash
                        && header.hash == receipt.block_hash
                        && header.number() <= final_block
                });
                match header {
                    Some(header) => return Took::Ours(attempt, receipt, header),
                    None => complete = false,
                }
            }
            Some(None) => {}
            None => complete = false,
        }
    }
    if complete { Took::NoneOfOurs } else { Took::Unclear }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{BatchId, Signed};
    use serde_json::json;

    fn attempt(hash: u8) -> Attempt {
        let signed = Signed { hash: B256::repeat_byte(hash), raw: vec![], gas_required: 0 };
        Attempt { batch: BatchId(1), seq: 0, kind: AttemptKind::Bill, signed }
    }

    fn receipt(hash: u8, block: u64, block_hash: u8) -> Receipt {
        let receipt = json!({
            "transactionHash": B256::repeat_byte(hash), "blockHash": B256::repeat_byte(block_hash),
            "blockNumber": node::quantity(block), "status": "0x1", "logs": [],
        });
        serde_json::from_value(receipt).unwrap()
    }

    fn header(block: u64, hash: u8) -> (u64, Header) {
        let header = json!({
            "number": node::quantity(block), "hash": B256::repeat_byte(hash),
            "timestamp": "0x64", "gasLimit": "0x1c9c380",
        });
        (block, serde_json::from_value(header).unwrap())
    }

    fn took(found: Vec<(u8, Found)>, headers: Vec<(u64, Header)>) -> String {
        let (first, second) = (attempt(1), attempt(2));
        let found = found.into_iter().map(|(hash, f)| (B256::repeat_byte(hash), f)).collect();
        let headers = headers.into_iter().collect();
        match winner(&[&first, &second], &found, &headers, 50) {
            Took::Ours(attempt, _, _) => attempt.signed.hash.0[0].to_string(),
            Took::NoneOfOurs => "none of ours".to_owned(),
            Took::Unclear => "unclear".to_owned(),
        }
    }

    #[test]
    fn the_winner_is_any_attempt_that_is_in_a_final_canonical_block() {
        assert_eq!(took(vec![(1, Some(receipt(1, 50, 9))), (2, None)], vec![header(50, 9)]), "1");
        assert_eq!(took(vec![(1, None), (2, Some(receipt(2, 7, 9)))], vec![header(7, 9)]), "2");
    }

    #[test]
    fn nothing_is_concluded_from_answers_that_do_not_fit() {
        let unclear = "unclear";
        let cases = [
            (receipt(1, 51, 9), vec![header(51, 9)], "not final yet"),
            (receipt(1, 50, 9), vec![header(50, 8)], "another block is canonical"),
            (receipt(1, 50, 9), vec![], "the block is not known"),
            (receipt(3, 50, 9), vec![header(50, 9)], "the receipt of another transaction"),
        ];
        for (receipt, headers, why) in cases {
            assert_eq!(took(vec![(1, Some(receipt)), (2, None)], headers), unclear, "{why}");
        }
        assert_eq!(took(vec![(1, None)], vec![]), unclear, "one answer is missing");
        assert_eq!(took(vec![], vec![]), unclear);
    }

    #[test]
    fn a_place_taken_by_none_of_ours_is_told_apart() {
        assert_eq!(took(vec![(1, None), (2, None)], vec![]), "none of ours");
    }
}
