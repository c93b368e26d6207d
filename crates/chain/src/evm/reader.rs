//! One question before the signature: the billing call, run in a frame that is undone, and after it
//! every lookup and all funds, read at the untouched state of the same block.
//!
//! A reader stands at the signing account's own address for the length of the call (a state override),
//! so that the billing contract sees the real caller. The one thing that it may see besides is that this
//! caller has code. So the answer lets a charge pass, and it tells funds; but nobody is refused by it
//! whose funds are not short, and no call is taken to fail: that is asked again without the reader.

use super::access::Access;
use super::simulate::Probe;
use crate::ChainError;
use crate::reads::{
    Answers, BillingRan, BillingRun, FundsReads, LookupReads, READER, Told, pack, unpack,
};
use crate::simulation::Simulated;
use ::node::{AskError, Fault};
use alloy::primitives::{Address, Bytes, address, keccak256};
use billing::{Charge, Funds};
use evm_node::{self as node, Call, EvmAsker, View};
use serde::Serialize;
use std::collections::BTreeMap;

/// The gas that any transaction uses by itself.
const TRANSFER_GAS: u64 = 21_000;

/// The gas that one question may use, and the gas that all may use together. Balance and allowance of a token
/// behind a proxy use about 10,000 each.
const READ_GAS: u64 = 50_000;
const MOST_READ_GAS: u64 = 30_000_000;

/// The gas that the reader uses itself.
const OWN_GAS: u64 = 200_000;

/// The contract of every EVM that returns what it is given.
const IDENTITY: Address = address!("0x0000000000000000000000000000000000000004");

/// The number of words of data by which the estimate of a transfer is compared.
const PROBE_WORDS: u8 = 32;

/// The result of one look.
pub(super) struct Seen {
    pub(super) funds: Vec<Option<Funds>>,
    /// The billing call, if it passed; none where it has to be run without the reader.
    pub(super) passed: Option<Simulated>,
}

/// The reader, asked at one view of the chain.
pub(super) struct ReaderAsk<'a> {
    pub(super) access: &'a Access,
    pub(super) view: &'a View<'a>,
}

impl ReaderAsk<'_> {
    /// Reads the balances and allowances of the wallets, and runs the billing call `data`, at once. None if this node
    /// does not answer that way now, or if a token does not tell: a share of the gas may have been too little.
    pub(super) async fn funds_and_call(
        &self,
        charges: &[Charge],
        data: &[u8],
        most: u64,
    ) -> Result<Option<Seen>, ChainError> {
        let contract = self.access.contract();
        let (lookups, funds) = (LookupReads::none(contract), FundsReads::of(charges, contract));
        let Some(gas) = most.checked_sub(intrinsic_gas(data)).filter(|gas| *gas > 0) else {
            return Ok(None);
        };
        let run = BillingRun { gas, data };
        let Some(told) = self.tell(Some(run), &lookups, &funds).await? else {
            return Ok(None);
        };
        if told.funds.iter().any(Option::is_none) {
            return Ok(None);
        }
        let passed = told.billing.filter(|ran| ran.passed).map(
            |BillingRan { used, data: answer, .. }| Simulated::Passed {
                used: transaction_gas(used, data),
                answer,
            },
        );
        Ok(Some(Seen { funds: funds.funds(charges, &told.funds), passed }))
    }

    /// Returns the answer of every lookup. None if this node does not answer that way now, or if a lookup
    /// failed: a share of the gas may have been too little.
    pub(super) async fn lookups(
        &self,
        lookups: &LookupReads,
    ) -> Result<Option<Answers>, ChainError> {
        let funds = FundsReads::of(&[], self.access.contract());
        let told = self.tell(None, lookups, &funds).await?;
        Ok(told.map(|told| told.lookups).filter(|answers| answers.iter().all(Option::is_some)))
    }

    /// Asks all of this in one call. None where the node does not answer that way now.
    async fn tell(
        &self,
        run: Option<BillingRun<'_>>,
        lookups: &LookupReads,
        funds: &FundsReads,
    ) -> Result<Option<Told>, ChainError> {
        let input = pack(self.access.contract(), run, lookups, funds);
        let questions =
            u64::try_from(lookups.count().saturating_add(funds.count())).unwrap_or(u64::MAX);
        let reads = questions.saturating_mul(READ_GAS).min(MOST_READ_GAS);
        let gas = gas_for(run.map_or(0, |run| run.gas), &input, reads);
        let asked = ReaderCall { signer: self.access.signer(), input: &input, gas };
        match ask(self.view.rpc, &self.view.block, asked).await {
            Ok(output) => Ok(unpack(&output, run, lookups, funds)),
            Err(AskError { fault: Fault::Node(_), .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Probes that the node lets the reader stand at the account's address, and that a transaction uses what is computed here
/// besides what its call uses: some rollups count more.
pub(super) async fn probe(
    rpc: EvmAsker<'_>,
    signer: Address,
    most: u64,
) -> Result<Probe, AskError> {
    match stands(rpc, signer, most).await? {
        Probe::Works => counts(rpc, signer, most).await,
        not @ (Probe::Fails | Probe::TooSlow) => Ok(not),
    }
}

async fn stands(rpc: EvmAsker<'_>, signer: Address, most: u64) -> Result<Probe, AskError> {
    let (lookups, funds) = (LookupReads::none(IDENTITY), FundsReads::of(&[], IDENTITY));
    let run = BillingRun { gas: most.max(1), data: &[0xaa] };
    let input = pack(IDENTITY, Some(run), &lookups, &funds);
    let gas = gas_for(most, &input, MOST_READ_GAS);
    match ask(rpc, "latest", ReaderCall { signer, input: &input, gas }).await {
        Ok(output) => {
            let told = unpack(&output, Some(run), &lookups, &funds).and_then(|told| told.billing);
            Ok(Probe::of(told.is_some_and(|ran| ran.passed && ran.data.as_ref() == [0xaa])))
        }
        Err(error) => Probe::after(error),
    }
}

async fn counts(rpc: EvmAsker<'_>, signer: Address, most: u64) -> Result<Probe, AskError> {
    // Nothing repeats, so that whoever counts what is left after compression counts all of it.
    let data: Vec<u8> = (0..PROBE_WORDS).flat_map(|word| keccak256([word])).collect();
    let call = Call { from: signer, to: signer, data: &data, gas: most };
    match node::estimate_gas(rpc, "latest", call).await {
        // The node's estimate is up to 1.5 percent too much.
        Ok(gas) => {
            Ok(Probe::of(gas <= transaction_gas(0, &data).saturating_mul(102).div_ceil(100)))
        }
        Err(error) => Probe::after(error),
    }
}

/// The state that an account has for a node while it runs a call.
#[derive(Serialize)]
struct StateOverride<'a> {
    code: &'a Bytes,
}

/// One call of the reader.
struct ReaderCall<'a> {
    signer: Address,
    input: &'a [u8],
    gas: u64,
}

async fn ask(rpc: EvmAsker<'_>, block: &str, asked: ReaderCall<'_>) -> Result<Bytes, AskError> {
    let ReaderCall { signer, input, gas } = asked;
    let call = Call { from: signer, to: signer, data: input, gas };
    let overrides = BTreeMap::from([(signer, StateOverride { code: &READER })]);
    rpc.ask(node::ETH_CALL, (call, block, overrides)).await
}

/// Returns the gas that the reader's call needs so that a billing call gets the `wanted` gas: a 64th stays behind
/// at each of two calls.
fn gas_for(wanted: u64, input: &[u8], reads: u64) -> u64 {
    let kept = wanted.div_ceil(30);
    let own = intrinsic_gas(input).max(floor_gas(input)).saturating_add(OWN_GAS);
    wanted.saturating_add(kept).saturating_add(own).saturating_add(reads)
}

/// Returns the gas that a transaction with this calldata uses in all, when its call uses `used`: at least the floor
/// of EIP-7623, also where a chain has none. Gas that is given back at the end has to be there before.
fn transaction_gas(used: u64, data: &[u8]) -> u64 {
    used.saturating_add(intrinsic_gas(data)).max(floor_gas(data))
}

/// EIP-2028.
fn intrinsic_gas(data: &[u8]) -> u64 {
    TRANSFER_GAS.saturating_add(tokens(data).saturating_mul(4))
}

/// EIP-7623.
fn floor_gas(data: &[u8]) -> u64 {
    TRANSFER_GAS.saturating_add(tokens(data).saturating_mul(10))
}

/// A byte of calldata counts for one when it is zero, else for four.
fn tokens(data: &[u8]) -> u64 {
    data.iter().map(|byte| if *byte == 0 { 1 } else { 4 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_transaction_uses_besides_its_call_is_known() {
        assert_eq!(transaction_gas(0, &[]), 21_000);
        assert_eq!(transaction_gas(100_000, &[0, 1]), 121_020, "4 and 16");
        assert_eq!(transaction_gas(10, &[0, 1]), 21_050, "10 and 40");
    }

    #[test]
    fn a_billing_call_gets_what_it_may_use_through_two_frames() {
        for wanted in [1_u64, 100_000, 16_777_216, 500_000_000] {
            let outer = gas_for(wanted, &[1; 1000], 0) - intrinsic_gas(&[1; 1000]);
            let frame = outer - OWN_GAS - outer / 64;
            assert!(frame - frame / 64 >= wanted, "{wanted}");
        }
    }
}
