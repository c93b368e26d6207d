//! The effect of a transaction on the state: bandwidth, then the contract, then the energy bill.

use super::address;
use super::bandwidth;
use super::info::Info;
use super::ledger::{Deployed, Ledger};
use super::meter::Meter;
use super::params::Params;
use super::proto::{Create, Transfer, Trigger};
use super::refusal::{Code, Refusal};
use super::tvm::{self, Call, Ending, Outcome, Scene};
use super::tx::{Action, Tx, new_contract};
use crate::state::{Hashes, State};
use revm::database_interface::DatabaseCommit;
use revm::primitives::{Address, Bytes, U256};
use revm::state::Bytecode;

/// The context in which a transaction is run.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The parameters in force.
    pub params: &'a Params,
    /// The ids of past blocks.
    pub hashes: &'a dyn Hashes,
    /// Block and chain as the machine sees them.
    pub scene: Scene,
    /// The head's time (ms): the block before.
    pub head_ms: u64,
    /// Limit on the computing of a call, in steps.
    pub budget: u64,
}

/// Runs a transaction. After an error the state is to be thrown away.
pub fn apply(at: &Setting<'_>, state: &mut State<Ledger>, tx: &Tx) -> Result<Info, Refusal> {
    let mut info = bandwidth::charge(at.params, at.head_ms, state, tx)?;
    match &tx.action {
        Action::Transfer(body) => transfer(at, state, body)?,
        Action::Trigger(body) => trigger(at, state, tx, body, &mut info)?,
        Action::Create(body) => create(at, state, tx, body, &mut info)?,
        Action::Other => return Err(Refusal::contract("contract type is not supported")),
    }
    Ok(info)
}

fn transfer(at: &Setting<'_>, state: &mut State<Ledger>, body: &Transfer) -> Result<(), Refusal> {
    let (Some(from), Some(to)) =
        (address::from21(&body.owner_address), address::from21(&body.to_address))
    else {
        return Err(Refusal::contract("Invalid toAddress!"));
    };
    if from == to {
        return Err(Refusal::contract("Cannot transfer TRX to yourself."));
    }
    if state.ledger().contract(&to).is_some() {
        return Err(Refusal::contract("Cannot transfer TRX to a smartContract."));
    }
    let Some(amount) = u64::try_from(body.amount).ok().filter(|amount| *amount > 0) else {
        return Err(Refusal::contract("Amount must be greater than 0."));
    };
    let amount = U256::from(amount);
    let Some(rest) = state.balance(&from).checked_sub(amount) else {
        return Err(Refusal::contract(
            "Validate TransferContract error, balance is not sufficient.",
        ));
    };
    state.account_mut(from).balance = rest;
    state.account_mut(to).balance += amount;
    if state.ledger().account(&to).is_none() {
        state.ledger_mut().activate(to, at.head_ms);
    }
    Ok(())
}

fn trigger(
    at: &Setting<'_>,
    state: &mut State<Ledger>,
    tx: &Tx,
    body: &Trigger,
    info: &mut Info,
) -> Result<(), Refusal> {
    let to = address::from21(&body.contract_address);
    let Some(to) = to.filter(|to| state.ledger().contract(to).is_some()) else {
        return Err(Refusal::contract("No contract or not a smart contract"));
    };
    no_token(body)?;
    let owner = tx.owner().unwrap_or_default();
    let (value, fee_limit) = money(at.params, body.call_value, tx)?;
    let caller = caller_energy(at, state, &owner, value, fee_limit);
    let creator = creator_energy(at, state, &to, &owner, caller);
    if state.balance(&owner) < U256::from(value) {
        return Err(Refusal::contract(
            "Validate InternalTransfer error, balance is not sufficient.",
        ));
    }
    let call = Call {
        from: owner,
        to,
        value,
        data: body.data.clone().into(),
        energy: caller + creator,
        code: None,
    };
    let done = tvm::run(state, at.hashes, &at.scene, &call, meter(at, state));
    info.contract = Some(to);
    settle(at, state, &call, done, info)
}

/// No token of the older kind (TRC-10) is on this chain, so no call can carry one.
fn no_token(body: &Trigger) -> Result<(), Refusal> {
    let (value, id) = (body.call_token_value, body.token_id);
    match (value, id) {
        (0, 0) => Ok(()),
        (_, 0) => Err(Refusal::contract(&format!(
            "invalid arguments with tokenValue = {value}, tokenId = {id}"
        ))),
        (_, 1..=1_000_000) => Err(Refusal::contract("tokenId must be > 1000000")),
        (_, _) => Err(Refusal::contract("No asset !")),
    }
}

fn create(
    at: &Setting<'_>,
    state: &mut State<Ledger>,
    tx: &Tx,
    body: &Create,
    info: &mut Info,
) -> Result<(), Refusal> {
    let new = new_contract(body);
    let owner = tx.owner().unwrap_or_default();
    let (value, fee_limit) = money(at.params, new.call_value, tx)?;
    let energy = caller_energy(at, state, &owner, value, fee_limit);
    let to = address::deployed(tx.id.as_slice(), &owner);
    let code = Bytes::from(new.bytecode.clone());
    let call = Call { from: owner, to, value, data: Bytes::new(), energy, code: Some(code) };
    let mut done = tvm::run(state, at.hashes, &at.scene, &call, meter(at, state));
    info.contract = Some(to);
    info.deployed = true;
    if done.ending == Ending::Success {
        let deposit = 200 * u64::try_from(done.output.len()).unwrap_or(u64::MAX);
        if done.energy + deposit > energy {
            done.ending = Ending::OutOfEnergy;
            "save just created contract code".clone_into(&mut done.message);
            (done.energy, done.output) = (energy, Bytes::new());
        } else {
            done.energy += deposit;
            install(
                state,
                to,
                Deployed {
                    origin: owner,
                    percent: u64::try_from(new.consume_user_resource_percent).unwrap_or(0),
                    origin_energy_limit: u64::try_from(new.origin_energy_limit).unwrap_or(0),
                    name: new.name.clone(),
                    bytecode: new.bytecode,
                    ..Deployed::default()
                },
            );
        }
    }
    let runtime = done.output.clone();
    settle(at, state, &call, done, info)?;
    if info.succeeded() {
        let account = state.account_mut(to);
        account.code = Some(Bytecode::new_legacy(runtime));
        account.nonce = 1;
    }
    Ok(())
}

/// Enters a contract into the ledger, with the account that every contract has.
pub fn install(state: &mut State<Ledger>, at: Address, contract: Deployed) {
    let ledger = state.ledger_mut();
    let account = ledger.account_mut(at);
    account.is_contract = true;
    account.name.clone_from(&contract.name);
    *ledger.contract_mut(at) = contract;
}

/// Call value and fee limit, if they are in range.
fn money(params: &Params, call_value: i64, tx: &Tx) -> Result<(u64, u64), Refusal> {
    let most = params.get("getMaxFeeLimit");
    let fee_limit = tx.raw().fee_limit;
    let Ok(value) = u64::try_from(call_value) else {
        return Err(Refusal::contract("callValue must be >= 0"));
    };
    match u64::try_from(fee_limit) {
        Ok(limit) if fee_limit <= most => Ok((value, limit)),
        Ok(_) | Err(_) => Err(Refusal::contract(&format!("feeLimit must be >= 0 and <= {most}"))),
    }
}

/// Energy that the caller can pay for: stake and balance, under the fee limit.
fn caller_energy(
    at: &Setting<'_>,
    state: &State<Ledger>,
    owner: &Address,
    value: u64,
    fee_limit: u64,
) -> u64 {
    let price = at.params.energy_price();
    let balance = u64::try_from(state.balance(owner)).unwrap_or(u64::MAX);
    let burnt = balance.saturating_sub(value) / price;
    let staked = state.ledger().energy_left(owner, at.params, at.head_ms);
    staked.saturating_add(burnt).min(fee_limit / price)
}

/// Energy that the deployer adds.
fn creator_energy(
    at: &Setting<'_>,
    state: &State<Ledger>,
    to: &Address,
    owner: &Address,
    caller: u64,
) -> u64 {
    let Some(contract) = state.ledger().contract(to).filter(|contract| contract.origin != *owner)
    else {
        return 0;
    };
    let left = state
        .ledger()
        .energy_left(&contract.origin, at.params, at.head_ms)
        .min(contract.origin_energy_limit);
    match contract.percent {
        0 => left,
        100.. => 0,
        percent => left.min(caller * (100 - percent) / percent),
    }
}

fn meter(at: &Setting<'_>, state: &State<Ledger>) -> Meter {
    Meter::new(factors(at.params, state.ledger()), at.budget)
}

/// The contracts that are dearer now, and by how much (ten-thousandths).
pub fn factors(params: &Params, ledger: &Ledger) -> std::collections::HashMap<Address, u64> {
    if params.get("getAllowDynamicEnergy") == 0 {
        return std::collections::HashMap::new();
    }
    let now = ledger
        .contracts()
        .map(|(at, contract)| (*at, contract.heat.at(ledger.cycle, params).factor));
    now.filter(|(_, factor)| *factor > 0).collect()
}

/// Keeps what a success changed, and bills the energy.
fn settle(
    at: &Setting<'_>,
    state: &mut State<Ledger>,
    call: &Call,
    done: Outcome,
    info: &mut Info,
) -> Result<(), Refusal> {
    if done.ending == Ending::Success {
        state.commit(done.changes);
    }
    for (contract, used) in &done.usage {
        heat(at, state.ledger_mut(), contract, *used);
    }
    info.energy_total = done.energy;
    info.penalty = done.penalty;
    info.ending = Some(done.ending);
    info.output = done.output;
    info.logs = done.logs;
    info.message = done.message;
    if done.ending == Ending::OutOfTime {
        "Already Time Out".clone_into(&mut info.message); // the block's words, not those of a call
    }
    bill(at, state, call, info)
}

fn heat(at: &Setting<'_>, ledger: &mut Ledger, contract: &Address, used: u64) {
    if ledger.contract(contract).is_some() {
        let cycle = ledger.cycle;
        let heat = &mut ledger.contract_mut(*contract).heat;
        *heat = heat.at(cycle, at.params);
        heat.usage += used;
    }
}

fn bill(
    at: &Setting<'_>,
    state: &mut State<Ledger>,
    call: &Call,
    info: &mut Info,
) -> Result<(), Refusal> {
    let mut due = info.energy_total;
    if let Some(contract) =
        state.ledger().contract(&call.to).filter(|contract| contract.origin != call.from)
    {
        let origin = contract.origin;
        let left = state
            .ledger()
            .energy_left(&origin, at.params, at.head_ms)
            .min(contract.origin_energy_limit);
        info.origin_energy_usage = (due * 100u64.saturating_sub(contract.percent) / 100).min(left);
        due -= info.origin_energy_usage;
        use_energy(at, state, origin, info.origin_energy_usage);
    }
    info.energy_usage = due.min(state.ledger().energy_left(&call.from, at.params, at.head_ms));
    use_energy(at, state, call.from, info.energy_usage);
    info.energy_fee = (due - info.energy_usage) * at.params.energy_price();
    info.fee += info.energy_fee;
    let account = state.account_mut(call.from);
    let rest = account.balance.checked_sub(U256::from(info.energy_fee));
    account.balance = rest.ok_or_else(|| {
        Refusal::new(
            Code::ContractExeError,
            "Contract execute error : Account has insufficient balance for energy fee",
        )
    })?;
    if info.energy_total > 0 {
        let ledger = state.ledger_mut().account_mut(call.from);
        ledger.operated_ms = at.head_ms;
        ledger.energy = ledger.energy.with(0, at.head_ms);
    }
    Ok(())
}

fn use_energy(at: &Setting<'_>, state: &mut State<Ledger>, who: Address, energy: u64) {
    if energy > 0 {
        let account = state.ledger_mut().account_mut(who);
        account.energy = account.energy.with(energy, at.head_ms);
    }
}
