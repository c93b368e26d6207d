//! `eth_call` and `eth_estimateGas`: what a transaction would do, without one.

use super::at::At;
use super::jsonrpc::Error;
use crate::chain::Chain;
use crate::evm::{Checks, Evm};
use crate::state::State;
use alloy::primitives::{Address, Bytes, TxKind, U256};
use alloy::rpc::types::TransactionRequest;
use alloy::rpc::types::state::{AccountOverride, StateOverride};
use alloy::sol_types::decode_revert_reason;
use revm::context::TxEnv;
use revm::context::result::{ExecutionResult, HaltReason, OutOfGasError, ResultAndState};
use revm::state::Bytecode;
use serde_json::json;
use std::sync::Arc;

/// The most gas that a call may use, whatever it asks for; geth's default.
pub const GAS_CAP: u64 = 50_000_000;

const TRANSFER: u64 = 21_000;

/// Returns the result of a call.
pub fn call(chain: &Chain<Evm>, at: &At, call: TransactionRequest) -> Result<Bytes, Error> {
    let tx = tx_env(&at.state, call, GAS_CAP)?;
    let result = run(chain, at, tx, Checks::Off)?.result;
    match &result {
        ExecutionResult::Success { output, .. } => Ok(output.data().clone()),
        ExecutionResult::Revert { .. } | ExecutionResult::Halt { .. } => Err(failure(&result)),
    }
}

/// The least gas limit that the call passes with, to about a percent and a half above.
pub fn estimate(chain: &Chain<Evm>, at: &At, call: TransactionRequest) -> Result<u64, Error> {
    let mut tx = tx_env(&at.state, call, at.header.gas_limit)?;
    let most = tx.gas_limit;
    let plain =
        tx.data.is_empty() && matches!(tx.kind, TxKind::Call(to) if at.state.code(&to).is_none());
    let mut passes_with = |gas| {
        tx.gas_limit = gas;
        run(chain, at, tx.clone(), Checks::Off)
    };
    if plain && passes_with(TRANSFER).is_ok_and(|done| done.result.is_success()) {
        return Ok(TRANSFER);
    }
    let done = passes_with(most)?.result;
    if starved(&done) {
        return Err(Error::node(format!("gas required exceeds allowance ({most})")));
    }
    let ExecutionResult::Success { gas, .. } = done else { return Err(failure(&done)) };
    let (mut too_little, mut enough) = (gas.tx_gas_used().saturating_sub(1), most);
    // Gas that is refunded has to be there first, and every call keeps back a 64th.
    let mut next = (gas.total_gas_spent() + 2300) * 64 / 63;
    while too_little + 1 < enough && enough - too_little > enough * 15 / 1000 {
        if next <= too_little || next >= enough {
            next = too_little.midpoint(enough).min(too_little * 2).max(too_little + 1);
        }
        if passes_with(next).is_ok_and(|done| done.result.is_success()) {
            enough = next;
        } else {
            too_little = next;
        }
        next = 0;
    }
    Ok(enough)
}

/// Runs a transaction on a state and keeps nothing.
pub fn run(
    chain: &Chain<Evm>,
    at: &At,
    tx: TxEnv,
    checks: Checks,
) -> Result<ResultAndState, Error> {
    let (caller, value) = (tx.caller, tx.value);
    if at.state.balance(&caller) < value {
        let words = format!("insufficient funds for gas * price + value: address {caller}");
        return Err(Error::node(words));
    }
    let done = chain.family().run(&at.header, &at.state, chain, tx, checks);
    done.map_err(|error| Error::node(error.to_string()))
}

/// A request as the machine runs it. Gas that is not named is `gas`.
pub fn tx_env(state: &State<()>, call: TransactionRequest, gas: u64) -> Result<TxEnv, Error> {
    let caller = call.from.unwrap_or_default();
    let differ = "both \"data\" and \"input\" are set and not equal. Please use \"input\" to pass transaction call data";
    let data = call.input.try_into_unique_input().map_err(|_| Error::node(differ))?;
    if call.gas_price.is_some() && call.max_fee_per_gas.is_some() {
        let words = "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified";
        return Err(Error::node(words));
    }
    let (listed, dynamic) = (call.access_list.is_some(), call.max_fee_per_gas.is_some());
    Ok(TxEnv {
        tx_type: if dynamic { 2 } else { u8::from(listed) },
        caller,
        gas_limit: call.gas.unwrap_or(gas).min(GAS_CAP),
        gas_price: call.max_fee_per_gas.or(call.gas_price).unwrap_or(0),
        kind: call.to.unwrap_or(TxKind::Create),
        value: call.value.unwrap_or_default(),
        data: data.unwrap_or_default(),
        nonce: call.nonce.unwrap_or_else(|| state.nonce(&caller)),
        chain_id: call.chain_id,
        access_list: call.access_list.unwrap_or_default(),
        gas_priority_fee: dynamic.then(|| call.max_priority_fee_per_gas.unwrap_or(0)),
        ..TxEnv::default()
    })
}

/// Why a call failed, in geth's words.
pub fn failure(result: &ExecutionResult) -> Error {
    match result {
        ExecutionResult::Halt { reason, .. } => Error::node(halted(reason)),
        ExecutionResult::Success { .. } => Error::node(""),
        ExecutionResult::Revert { output, .. } => {
            let reason = decode_revert_reason(output).filter(|_| has_words(output));
            let message = match reason.as_deref().and_then(|words| words.split_once(": ")) {
                Some((_, words)) => format!("execution reverted: {words}"),
                None => "execution reverted".to_owned(),
            };
            Error { code: 3, message, data: Some(json!(output)) }
        }
    }
}

/// `Error(string)` and `Panic(uint256)` are put into words.
fn has_words(output: &[u8]) -> bool {
    output.starts_with(&[0x08, 0xc3, 0x79, 0xa0]) || output.starts_with(&[0x4e, 0x48, 0x7b, 0x71])
}

fn starved(result: &ExecutionResult) -> bool {
    matches!(result, ExecutionResult::Halt { reason: HaltReason::OutOfGas(_), .. })
}

fn halted(reason: &HaltReason) -> String {
    let words = match reason {
        HaltReason::OutOfGas(
            OutOfGasError::Basic
            | OutOfGasError::MemoryLimit
            | OutOfGasError::Memory
            | OutOfGasError::Precompile
            | OutOfGasError::InvalidOperand
            | OutOfGasError::ReentrancySentry,
        ) => "out of gas",
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => "invalid opcode",
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID",
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::StackUnderflow => "stack underflow",
        HaltReason::StackOverflow => "stack limit reached 1024",
        HaltReason::OutOfOffset => "return data out of bounds",
        HaltReason::CreateCollision => "contract address collision",
        HaltReason::CreateContractSizeLimit => "max code size exceeded",
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded",
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection"
        }
        HaltReason::OutOfFunds => "insufficient balance for transfer",
        HaltReason::CallTooDeep => "max call depth exceeded",
        HaltReason::PrecompileError
        | HaltReason::PrecompileErrorWithContext(_)
        | HaltReason::NonceOverflow
        | HaltReason::CreateContractStartingWithEF
        | HaltReason::OverflowPayment => return reason.to_string(),
    };
    words.to_owned()
}

/// Accounts as a caller wants to see them for the length of a call.
pub fn overridden(at: At, overrides: Option<StateOverride>) -> Result<At, Error> {
    let Some(overrides) = overrides.filter(|overrides| !overrides.is_empty()) else {
        return Ok(at);
    };
    let mut state = State::clone(&at.state);
    for (address, wanted) in overrides {
        override_one(&mut state, address, wanted)?;
    }
    Ok(At { state: Arc::new(state), ..at })
}

fn override_one(
    state: &mut State<()>,
    address: Address,
    wanted: AccountOverride,
) -> Result<(), Error> {
    if wanted.move_precompile_to.is_some() {
        return Err(Error::params("movePrecompileToAddress is not supported by the sandbox"));
    }
    if wanted.state.is_some() && wanted.state_diff.is_some() {
        let words = format!("account {address} has both 'state' and 'stateDiff'");
        return Err(Error::params(words));
    }
    let account = state.account_mut(address);
    account.balance = wanted.balance.unwrap_or(account.balance);
    account.nonce = wanted.nonce.unwrap_or(account.nonce);
    if let Some(code) = wanted.code {
        account.code = (!code.is_empty()).then(|| Bytecode::new_legacy(code));
    }
    if wanted.state.is_some() {
        account.storage.clear();
    }
    for (slot, word) in wanted.state.into_iter().chain(wanted.state_diff).flatten() {
        account.storage.insert(U256::from_be_bytes(slot.0), U256::from_be_bytes(word.0));
    }
    Ok(())
}
