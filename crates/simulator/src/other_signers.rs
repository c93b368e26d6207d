//! The others who have the key: another installation, a thief, the owner's own wallet. Their transactions take the
//! Signer's places, and may charge the customers whom its callers ask for, in the same period.

use crate::callers::NO_PERIOD;
use crate::dice::Fault;
use crate::genesis::{CUSTOMERS, biller, customer};
use crate::seed_settings::Shape;
use crate::world::{Side, World};
use alloy::consensus::Transaction as _;
use alloy::primitives::{Address, B256, U256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall as _;
use sandbox_chains::contracts::Careless;
use sandbox_chains::tron::Wallet;
use sandbox_chains::tron::tx::{Action, Tx};

/// First of the periods that a stranger who uses the key elsewhere may charge for and that no caller asks for.
const ELSEWHERE: u32 = 900;

/// So long (ms) a Signer that can ask has to learn what is final.
const TIME_TO_LEARN_MS: u64 = 20_000;

/// Time in which a transaction that strangers sign on TRON can land (ms).
const LIFE_MS: u64 = 60_000;

/// Fee limit of such a transaction (sun).
const FEE_LIMIT: i64 = 1_000_000_000;

/// Longest time that a customer whom strangers have charged is out of money (s).
const DRAINED: u64 = 40;

/// One transaction of theirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stranger {
    pub(crate) side: Side,
    pub(crate) hash: B256,
    /// True if the transaction calls the contract. A transfer of coins does not show that anybody bills.
    bills: bool,
    /// Until when it could land (ms): its sender was alive a moment before.
    expires_ms: u64,
    /// From when on a Signer knows of it (ms).
    known_ms: Option<u64>,
}

/// The effect of a transaction of others who have the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It may bill.
    Bills,
    /// It is a transfer.
    Other,
}

impl World {
    /// A second's worth of what they do.
    pub(crate) fn strangers_sign(&mut self) {
        if self.only != Some(Side::Tron) && self.fault("EVM", Fault::KeyUsedElsewhere) {
            self.use_key_elsewhere();
        }
        if self.only != Some(Side::Evm) && self.fault("TRON", Fault::Rival) {
            self.bill_elsewhere();
        }
        if self.only != Some(Side::Tron) && self.fault("EVM", Fault::Authorized) {
            self.authorise();
        }
        self.wait_for_strangers();
        let due = |(.., at_ms): &(Side, u64, u64)| *at_ms <= self.now_ms;
        if let Some(at) = self.refills.iter().position(due) {
            let (side, who, _) = self.refills.swap_remove(at);
            self.fill_purse(side, who, crate::chain_events::RICH);
        }
    }

    /// Returns true if strangers signed this transaction.
    pub(crate) fn is_strangers(&self, hash: B256) -> bool {
        self.strangers.iter().any(|one| one.hash == hash)
    }

    /// Returns true if a transaction of the Signer was signed when the Signer had to know what one of the
    /// strangers' transactions had charged: that this one was final; and on TRON, where nothing but blocks tells of
    /// it, that the key was in other hands. An account's own history, from before the journal knew the account, is
    /// the merchant's to import.
    pub(crate) fn ought_to_know(&self, side: Side, ours: B256, theirs: B256) -> bool {
        let Some(signed_ms) = self.signed_ms.get(&ours) else { return false };
        let Some(since_ms) = self.known_since_ms[side.place()] else { return false };
        let later = |one: &&Stranger| one.side == side && one.expires_ms >= since_ms + LIFE_MS;
        self.strangers.iter().filter(later).any(|one| {
            let alive = side == Side::Tron && one.bills && *signed_ms < one.expires_ms;
            let tells = one.hash == theirs || alive;
            tells && one.known_ms.is_some_and(|known_ms| known_ms < *signed_ms)
        })
    }

    fn wait_for_strangers(&mut self) {
        let mut strangers = std::mem::take(&mut self.strangers);
        for one in strangers.iter_mut().filter(|one| one.known_ms.is_none()) {
            let solid = match one.side {
                Side::Evm => self.evm.is_final(&one.hash),
                Side::Tron => self.tron.is_final(&one.hash),
            };
            let told = solid && !self.is_dark(one.side) && !self.dead;
            one.known_ms = told.then_some(self.now_ms + TIME_TO_LEARN_MS);
        }
        self.strangers = strangers;
    }

    fn stranger(&mut self, side: Side, hash: B256, effect: Effect) {
        let bills = effect == Effect::Bills;
        (self.foreign, self.foreign_ms) = (self.foreign + 1, self.now_ms);
        let expires_ms = self.now_ms + LIFE_MS;
        self.strangers.push(Stranger { side, hash, bills, expires_ms, known_ms: None });
    }

    /// Somebody signs with the Signer's key on EVM: an empty transfer, or charges; behind what waits, or in the
    /// place of the first that does.
    fn use_key_elsewhere(&mut self) {
        let from = biller(0);
        let nonce = self.elsewhere_nonce(&from);
        // Nobody can learn what the call of a profile without plan and user does not carry.
        let plain = self.scene.shape(Side::Evm) == Shape::Bare;
        let raw = if plain || self.dice.one_in(3) {
            self.signed(&from, from.address(), nonce, vec![])
        } else {
            let waiting = self.waiting_on_evm(&from, nonce);
            let call = self.charge_elsewhere(Side::Evm, &waiting);
            self.signed(&from, self.evm_at.billing, nonce, call)
        };
        self.stranger(Side::Evm, keccak256(&raw), Effect::Bills);
        self.send_straight(Side::Evm, &raw);
    }

    fn elsewhere_nonce(&mut self, from: &PrivateKeySigner) -> u64 {
        let chain = self.evm.truth.chain();
        let next = sandbox_chains::eth::pool::next_nonce(&chain, &from.address());
        let first = chain.head_state().nonce(&from.address());
        drop(chain);
        if self.dice.one_in(2) { first } else { next }
    }

    /// The same on TRON: a transfer, or charges.
    fn bill_elsewhere(&mut self) {
        let mut wallet = Wallet::new(&biller(0).to_bytes()).expect("a key is a key");
        (wallet.fee_limit, wallet.life_ms) = (FEE_LIMIT, LIFE_MS);
        wallet.salt = i64::from(self.foreign) + 1;
        let plain = self.scene.shape(Side::Tron) == Shape::Bare;
        let moves = plain || self.dice.one_in(4);
        let tx = if moves {
            wallet.transfer(&self.tron.truth, customer(1), 1)
        } else {
            let waiting = self.waiting_on_tron();
            let call = self.charge_elsewhere(Side::Tron, &waiting);
            wallet.call(&self.tron.truth, self.tron_at.billing, call)
        };
        let effect = if moves { Effect::Other } else { Effect::Bills };
        self.stranger(Side::Tron, tx.id, effect);
        self.tron.truth.broadcast(tx).ok();
    }

    /// A call that charges somebody whom a transaction that waits is about to charge, or anybody.
    fn charge_elsewhere(&mut self, side: Side, waiting: &[Careless::Item]) -> Vec<u8> {
        let picked = (!waiting.is_empty() && !self.dice.one_in(4))
            .then(|| waiting[self.dice.place(waiting.len())].clone());
        let item = picked.unwrap_or_else(|| self.anybody(side));
        let who = item.subscribeId;
        if self.dice.one_in(2) {
            // The money in the purse is enough for one charge.
            self.emptied[side.place()] = true;
            let amount = u64::try_from(item.amount).unwrap_or(u64::MAX);
            self.fill_purse(side, who, amount);
            let until_ms = self.now_ms + 1000 * (15 + self.dice.below(DRAINED));
            self.refills.push((side, who, until_ms));
        }
        let items = vec![Careless::Item { tag: 0, ..item }];
        Careless::chargeCall { items }.abi_encode()
    }

    fn anybody(&mut self, side: Side) -> Careless::Item {
        let who = 1 + self.dice.below(CUSTOMERS);
        let now = self.period_now(side);
        let period = if self.dice.one_in(3) { ELSEWHERE + self.foreign } else { now };
        Careless::Item {
            subscribeId: who,
            planId: 1,
            userHash: B256::from(U256::from(who + 1000)),
            period,
            amount: 500,
            userWallet: customer(who),
            tokenAddress: self.token(side),
            tag: 0,
        }
    }

    fn token(&self, side: Side) -> Address {
        match side {
            Side::Evm => self.evm_at.token,
            Side::Tron => self.tron_at.token,
        }
    }

    /// The period that callers ask for now, or the contract tells.
    fn period_now(&self, side: Side) -> u32 {
        let head_ms = match side {
            Side::Evm => self.evm.head().1,
            Side::Tron => self.tron.head().1,
        };
        let now = match self.scene.shape(side) {
            Shape::Guarded => u64::from(NO_PERIOD),
            Shape::Lookup => head_ms / 1000 / 64,
            Shape::Full | Shape::Bare => 1 + (self.now_ms - self.begun_ms) / 60_000,
        };
        u32::try_from(now).unwrap_or(0)
    }

    /// Returns the items that transactions behind this nonce are about to charge.
    fn waiting_on_evm(&self, from: &PrivateKeySigner, after: u64) -> Vec<Careless::Item> {
        let chain = self.evm.truth.chain();
        let waiting = chain.pool().iter();
        let ours =
            waiting.filter(|one| one.tx.signer() == from.address() && one.tx.nonce() > after);
        ours.flat_map(|one| charged_by(one.tx.input())).collect()
    }

    fn waiting_on_tron(&self) -> Vec<Careless::Item> {
        let chain = self.tron.truth.node().chain();
        let call = |tx: &Tx| match &tx.action {
            Action::Trigger(call) => charged_by(&call.data),
            Action::Create(_) | Action::Transfer(_) | Action::Other => vec![],
        };
        chain.pool().iter().flat_map(|one| call(&one.tx)).collect()
    }
}

fn charged_by(call: &[u8]) -> Vec<Careless::Item> {
    Careless::chargeCall::abi_decode(call).map(|call| call.items).unwrap_or_default()
}
