//! `eth_simulateV1`: blocks of calls, one after the other, on a state that is thrown away.
//!
//! The blocks in the answer name no transactions, and transfers of coins are not told as logs.

use super::at::At;
use super::jsonrpc::{Answer, Error, value};
use super::{calls, shapes};
use crate::chain::{Chain, Commitments, Header};
use crate::evm::{Checks, Evm, sealed};
use crate::state::State;
use alloy::primitives::{B256, Bytes};
use alloy::rpc::types::simulate::{
    MAX_SIMULATE_BLOCKS, SimBlock, SimCallResult, SimulateError, SimulatePayload, SimulatedBlock,
};
use alloy::rpc::types::{Block as RpcBlock, BlockOverrides, BlockTransactions, Log};
use revm::context::result::ExecutionResult;
use revm::database_interface::DatabaseCommit as _;
use std::sync::Arc;

/// Runs all blocks of the payload on top of `at`.
pub fn simulate(chain: &Chain<Evm>, mut at: At, payload: SimulatePayload) -> Answer {
    if payload.trace_transfers {
        return Err(Error::params("traceTransfers is not supported by the sandbox"));
    }
    let blocks = payload.block_state_calls;
    if blocks.is_empty() {
        return Err(Error::params("empty input"));
    }
    if u64::try_from(blocks.len()).is_ok_and(|count| count > MAX_SIMULATE_BLOCKS) {
        return Err(Error::new(-38_026, "too many blocks"));
    }
    let checks = if payload.validation { Checks::On } else { Checks::Off };
    let mut parent = chain.block(at.header.number).map_or(at.header.parent, |block| block.id);
    let mut simulated = vec![];
    for block in blocks {
        let (next, after, id) = one(chain, &at, parent, block, checks)?;
        simulated.push(next);
        (at, parent) = (after, id);
    }
    value(simulated)
}

fn one(
    chain: &Chain<Evm>,
    before: &At,
    parent: B256,
    block: SimBlock,
    checks: Checks,
) -> Result<(SimulatedBlock, At, B256), Error> {
    let header = header(chain, &before.header, parent, block.block_overrides, checks)?;
    let at = At { header, state: Arc::clone(&before.state) };
    let mut at = calls::overridden(at, block.state_overrides)?;
    let mut used = 0;
    let mut results: Vec<SimCallResult> = vec![];
    for call in block.calls {
        let left = at.header.gas_limit.saturating_sub(used);
        let tx = calls::tx_env(&at.state, call, left)?;
        if tx.gas_limit > left {
            return Err(Error::new(-38_015, "block gas limit reached"));
        }
        let done = calls::run(chain, &at, tx, checks)?;
        let mut state = State::clone(&at.state);
        state.commit(done.state);
        at.state = Arc::new(state);
        used += done.result.tx_gas_used();
        results.push(told(&done.result, &at.header, results.iter().map(|r| r.logs.len()).sum()));
    }
    at.header.commitments.gas_used = used;
    let id = sealed::header(&at.header).hash_slow();
    let inner = RpcBlock {
        header: shapes::header(&at.header, id, &[]),
        uncles: vec![],
        transactions: BlockTransactions::Hashes(vec![]),
        withdrawals: Some(vec![].into()),
    };
    let results = results.into_iter().map(|result| named(result, id)).collect();
    Ok((SimulatedBlock { inner, calls: results }, at, id))
}

fn header(
    chain: &Chain<Evm>,
    before: &Header,
    parent: B256,
    overrides: Option<BlockOverrides>,
    checks: Checks,
) -> Result<Header, Error> {
    let wanted = overrides.unwrap_or_default();
    let number = wanted.number.map_or(before.number + 1, |number| number.saturating_to());
    if number <= before.number {
        return Err(Error::new(-38_020, "block numbers must be in order"));
    }
    let time_ms = match wanted.time {
        Some(seconds) if seconds * 1000 <= before.time_ms => {
            return Err(Error::new(-38_021, "block timestamps must be in order"));
        }
        Some(seconds) => seconds * 1000,
        None => before.time_ms + chain.settings().slot_ms.max(1000),
    };
    let price = if checks == Checks::On { before.price } else { 0 };
    Ok(Header {
        number,
        time_ms,
        parent_ms: before.time_ms,
        parent,
        producer: wanted.coinbase.unwrap_or(before.producer),
        price: wanted.base_fee.map_or(price, |fee| fee.saturating_to()),
        gas_limit: wanted.gas_limit.unwrap_or(before.gas_limit),
        fork: before.fork,
        commitments: Commitments::default(),
    })
}

/// A result, with its logs numbered from `first_log`.
fn told(result: &ExecutionResult, header: &Header, first_log: usize) -> SimCallResult {
    let (status, gas_used) = (result.is_success(), result.tx_gas_used());
    let error = (!status).then(|| {
        let why = calls::failure(result);
        // -32015 is what a failure of the machine is here, unlike in eth_call.
        let code = if why.code == 3 { 3 } else { -32_015 };
        let data = result.output().filter(|_| why.code == 3).cloned();
        SimulateError { code, message: why.message, data }
    });
    let logs = if status { result.logs().to_vec() } else { vec![] };
    let number = |index: usize| u64::try_from(first_log + index).unwrap_or(u64::MAX);
    let logs = logs.into_iter().enumerate().map(|(index, inner)| Log {
        inner,
        block_number: Some(header.number),
        block_timestamp: Some(header.time_ms / 1000),
        log_index: Some(number(index)),
        ..Log::default()
    });
    let return_data: Bytes = result.output().cloned().unwrap_or_default();
    SimCallResult { return_data, logs: logs.collect(), gas_used, max_used_gas: None, status, error }
}

fn named(mut result: SimCallResult, block: B256) -> SimCallResult {
    for log in &mut result.logs {
        log.block_hash = Some(block);
    }
    result
}
