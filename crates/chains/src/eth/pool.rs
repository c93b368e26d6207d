//! `eth_sendRawTransaction`, and what the pool says no with.

use super::jsonrpc::Error;
use super::shapes;
use crate::chain::{Chain, Family as _};
use crate::evm::{Evm, Refusal, Tx, decode};
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256, U256};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Takes the bytes of a signed transaction into the pool.
pub fn send(chain: &mut Chain<Evm>, raw: &[u8]) -> Result<B256, Error> {
    let Some(tx) = decode(raw) else {
        return Err(Error::node("rlp: the bytes are not a signed transaction"));
    };
    let refused = tx.clone();
    Evm::admit(chain, tx).map_err(|refusal| Error::node(words(chain, &refused, refusal)))
}

/// The nonce after those in blocks and those that wait without a gap.
pub fn next_nonce(chain: &Chain<Evm>, who: &Address) -> u64 {
    let mut next = chain.head_state().nonce(who);
    let mut waiting: Vec<u64> = chain
        .pool()
        .iter()
        .filter(|pending| pending.tx.signer() == *who)
        .map(|pending| pending.tx.nonce())
        .collect();
    waiting.sort_unstable();
    for nonce in waiting {
        next += u64::from(nonce == next);
    }
    next
}

/// The transactions of `who` that wait, as geth tells them: without a gap, and behind one.
pub fn content(chain: &Chain<Evm>, who: &Address) -> Value {
    let next = next_nonce(chain, who);
    let own = chain.pool().iter().filter(|pending| pending.tx.signer() == *who);
    let told = own.map(|pending| (pending.tx.nonce(), shapes::waits(&pending.tx)));
    let (pending, queued): (BTreeMap<_, _>, _) = told.partition(|(nonce, _)| *nonce < next);
    json!({ "pending": pending, "queued": queued })
}

/// The transaction that has this nonce of `who`: in the pool, or in a block.
pub fn by_nonce(chain: &Chain<Evm>, who: &Address, nonce: u64) -> Option<B256> {
    let is_it = |tx: &Tx| tx.signer() == *who && tx.nonce() == nonce;
    let waiting = chain.pool().iter().find(|pending| is_it(&pending.tx));
    waiting.map(|pending| pending.id).or_else(|| {
        let blocks = (0..=chain.head().header.number).rev().filter_map(|n| chain.block(n));
        let mut included = blocks.flat_map(|block| &block.body);
        included.find(|included| is_it(&included.tx)).map(|included| Evm::id(&included.tx))
    })
}

fn words(chain: &Chain<Evm>, tx: &Tx, refusal: Refusal) -> String {
    match refusal {
        Refusal::AlreadyKnown => "already known".to_owned(),
        Refusal::WrongChain => format!(
            "invalid chain id for signer: have {} want {}",
            tx.chain_id().unwrap_or_default(),
            chain.family().chain_id
        ),
        Refusal::GasLimit => "exceeds block gas limit".to_owned(),
        Refusal::IntrinsicGas => format!("intrinsic gas too low: gas {}", tx.gas_limit()),
        Refusal::NonceTooLow { next } => {
            format!("nonce too low: next nonce {next}, tx nonce {}", tx.nonce())
        }
        Refusal::TipAboveCap => format!(
            "max priority fee per gas higher than max fee per gas: maxPriorityFeePerGas: {}, maxFeePerGas: {}",
            tx.max_priority_fee_per_gas().unwrap_or_default(),
            tx.max_fee_per_gas()
        ),
        Refusal::Funds => {
            let balance = chain.head_state().balance(&tx.signer());
            let cost = U256::from(tx.gas_limit()) * U256::from(tx.max_fee_per_gas()) + tx.value();
            format!(
                "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}",
                cost.saturating_sub(balance)
            )
        }
        Refusal::Underpriced => "replacement transaction underpriced".to_owned(),
    }
}
