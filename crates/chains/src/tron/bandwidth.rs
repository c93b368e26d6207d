//! The payer of the bytes, and of the other fixed fees, before anything is run.

use super::address;
use super::info::Info;
use super::ledger::{Ledger, Usage};
use super::params::Params;
use super::refusal::Refusal;
use super::tx::{Action, Tx};
use crate::state::State;
use revm::primitives::{Address, U256};

/// Charges bandwidth, the fee for several signatures and the fee for a memo, in this order. `now_ms` is the head's time.
pub fn charge(
    params: &Params,
    now_ms: u64,
    state: &mut State<Ledger>,
    tx: &Tx,
) -> Result<Info, Refusal> {
    let owner = tx.owner().filter(|owner| state.ledger().account(owner).is_some());
    let Some(owner) = owner else {
        let name = address::base58_bytes(tx.owner_bytes());
        return Err(Refusal::contract(&format!("account [{name}] does not exist")));
    };
    let mut info = Info::default();
    let bytes = tx.size() + 64;
    if creates_account(state, tx) {
        info.net_fee = params.unsigned("getCreateAccountFee");
        pay(state, &owner, info.net_fee)?;
    } else if !use_quota(params, now_ms, state, &owner, bytes) {
        info.net_fee = bytes * params.byte_price();
        pay(state, &owner, info.net_fee)?;
    } else {
        info.net_usage = bytes;
    }
    info.fee = info.net_fee;
    if tx.message.signature.len() > 1 {
        info.fee += fixed(params, "getMultiSignFee", state, &owner)?;
    }
    if !tx.raw().data.is_empty() {
        info.fee += fixed(params, "getMemoFee", state, &owner)?;
    }
    Ok(info)
}

fn fixed(
    params: &Params,
    key: &str,
    state: &mut State<Ledger>,
    owner: &Address,
) -> Result<u64, Refusal> {
    let fee = params.unsigned(key);
    pay(state, owner, fee)?;
    Ok(fee)
}

fn creates_account(state: &State<Ledger>, tx: &Tx) -> bool {
    let Action::Transfer(transfer) = &tx.action else { return false };
    address::from21(&transfer.to_address).is_some_and(|to| state.ledger().account(&to).is_none())
}

/// Takes all bytes from the staked bandwidth, or else all from the free quota; false if neither has them.
fn use_quota(
    params: &Params,
    now_ms: u64,
    state: &mut State<Ledger>,
    owner: &Address,
    bytes: u64,
) -> bool {
    let staked = state.ledger().net_limit(owner, params);
    let fits = |usage: Usage, limit: u64| limit >= usage.left_at(now_ms) + bytes;
    let account = state.ledger_mut().account_mut(*owner);
    if fits(account.net, staked) {
        account.net = account.net.with(bytes, now_ms);
    } else if fits(account.free_net, params.unsigned("getFreeNetLimit")) {
        account.free_net = account.free_net.with(bytes, now_ms);
    } else {
        return false;
    }
    account.operated_ms = now_ms;
    true
}

fn pay(state: &mut State<Ledger>, owner: &Address, sun: u64) -> Result<(), Refusal> {
    let account = state.account_mut(*owner);
    account.balance =
        account.balance.checked_sub(U256::from(sun)).ok_or_else(Refusal::resources)?;
    Ok(())
}
