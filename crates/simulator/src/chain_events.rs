//! The events on the chains themselves while the Signer works: fees rise, customers become poor, the key is used
//! elsewhere, and callers who were handed bytes send them.

use crate::dice::Fault;
use crate::genesis::{BILLERS, CUSTOMERS, biller, purse, silence};
use crate::mutants::Mutant;
use crate::world::{NODES, Side, World};
use alloy::consensus::transaction::Recovered;
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, Signature, TxKind, U256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::town::wallet;

/// The base fee of a quiet chain (wei).
const CALM: u64 = 10_000_000_000;

/// Balance of every customer in the beginning, and at the end.
pub(crate) const RICH: u64 = 1_000_000_000_000;

/// So long (ms) patient callers wait: what they send then has perhaps been given up.
const PATIENCE_MS: u64 = 65_000;

impl World {
    /// A second's worth of mishaps.
    pub(crate) fn mishaps(&mut self) {
        if self.fault("EVM", Fault::FeeSpike) {
            // The highest is more than the Signer may bid: what was signed waits until it falls.
            let prices =
                if self.scene.cancels { &[1, 3, 400, 400][..] } else { &[1, 3, 12, 40, 400] };
            let price = CALM * prices[self.dice.place(prices.len())];
            self.evm.truth.chain().family_mut().base_fee = Some(price);
        }
        for side in Side::ALL {
            let name = side.name();
            if self.fault(name, Fault::CustomerPoor) {
                let who = 1 + self.dice.below(CUSTOMERS);
                let value = if self.dice.one_in(2) { 0 } else { RICH };
                self.fill_purse(side, who, value);
            }
            if self.fault(name, Fault::NoGasMoney) {
                self.turn_the_tap(side);
                self.fill_tanks(side);
            }
            if !self.is_dark(side) && self.fault(name, Fault::Blackout) {
                self.dark_until_ms[side.place()] = self.now_ms + 1000 * (40 + self.dice.below(30));
            }
            if self.away[side.place()].1 <= self.now_ms && self.fault(name, Fault::NodeAway) {
                let until_ms = self.now_ms + 1000 * (20 + self.dice.below(40));
                self.away[side.place()] = (self.dice.place(NODES), until_ms);
            }
            if self.liar_may_fork(side) && self.fault(name, Fault::ForgedFork) {
                self.fork_the_liar();
            }
        }
        self.strangers_sign();
        let wait = if self.scene.patient { PATIENCE_MS } else { 0 };
        let now = self.now_ms;
        let due = self.handed_out.iter().filter(|(.., since)| now >= since + wait).count();
        if due > 0 && self.fault("both", Fault::CallerSends) {
            // They are in the order in which they were handed out.
            let which = self.dice.place(due);
            let (side, raw, _) = self.handed_out[which].clone();
            if !self.is_out_of_sight(side, &raw) {
                self.send_straight(side, &raw);
            }
        }
    }

    /// Returns true if no node of a chain answers.
    pub(crate) fn is_dark(&self, side: Side) -> bool {
        self.now_ms < self.dark_until_ms[side.place()]
    }

    /// Returns true if the world has a liar on TRON that may be asked for a chain of its own.
    fn liar_may_fork(&self, side: Side) -> bool {
        let liar = self.liars[side.place()].is_some();
        side == Side::Tron && liar && !self.tron.is_forked()
    }

    /// The liar goes on with a chain of its own, in whose blocks nothing ever is. Too few witnesses sign it,
    /// unless the rule that asks who signed is broken.
    fn fork_the_liar(&mut self) {
        let Some(liar) = self.liars[Side::Tron.place()] else { return };
        let all = self.breaks(Mutant::AnybodySigns);
        self.tron.fork(liar, all, 1 + self.dice.place(2));
    }

    /// One of the customers that a transaction is about to charge becomes poor before it lands.
    pub(crate) fn rob(&mut self, side: Side) {
        if self.fault(side.name(), Fault::PoorAtLast) {
            let who = 1 + self.dice.below(CUSTOMERS);
            self.fill_purse(side, who, 0);
        }
    }

    /// Bytes reach whoever makes the blocks.
    pub(crate) fn send_straight(&self, side: Side, raw: &[u8]) {
        match side {
            Side::Evm => {
                if let Some(tx) = sandbox_chains::evm::decode(raw) {
                    Evm::admit(&mut self.evm.truth.chain(), tx).ok();
                }
            }
            Side::Tron => {
                if let Ok(tx) = sandbox_chains::tron::tx::Tx::decode(raw) {
                    self.tron.truth.broadcast(tx).ok();
                }
            }
        }
    }

    /// Has the contracts tell nobody of one customer's charges, where the scene says so.
    pub(crate) fn mute_if_so_set(&self) {
        if !self.scene.muted {
            return;
        }
        let owner = wallet("owner").address();
        self.tron.truth.impersonate(owner, self.tron_at.billing, silence());
        self.impersonate(owner, self.evm_at.billing, silence());
    }

    /// All signing accounts are without money, or again; where there are several, that may be one of them.
    fn turn_the_tap(&mut self, side: Side) {
        let signing = self.scene.signers(side);
        let one = (signing > 1).then(|| self.dice.place(signing + 1)).filter(|one| *one < signing);
        let broke = &mut self.broke[side.place()];
        match one {
            Some(one) => broke[one] ^= true,
            None => *broke = [!broke[0]; BILLERS],
        }
    }

    /// Gives the signing accounts what they had, or takes it all.
    fn fill_tanks(&self, side: Side) {
        for place in 0..BILLERS {
            let who = biller(place).address();
            let broke = self.broke[side.place()][place];
            let money = if broke { U256::ZERO } else { self.tanks[side.place()] };
            match side {
                Side::Evm => {
                    let mut chain = self.evm.truth.chain();
                    chain.edit_all(|state| state.account_mut(who).balance = money);
                }
                Side::Tron => {
                    let mut chain = self.tron.truth.node().chain();
                    chain.edit_all(|state| state.account_mut(who).balance = money);
                }
            }
        }
    }

    pub(crate) fn fill_purse(&mut self, side: Side, who: u64, value: u64) {
        self.emptied[side.place()] |= value == 0;
        let owner = wallet("owner").address();
        match side {
            Side::Tron => {
                self.tron.truth.impersonate(owner, self.tron_at.token, purse(who, value));
            }
            Side::Evm => self.impersonate(owner, self.evm_at.token, purse(who, value)),
        }
    }

    /// A transaction on EVM of somebody who need not sign.
    fn impersonate(&self, from: Address, to: Address, data: Vec<u8>) {
        let nonce = eth::pool::next_nonce(&self.evm.truth.chain(), &from);
        let tx = self.outbidding(to, nonce, data).into_signed(Signature::test_signature());
        let tx = Recovered::new_unchecked(TxEnvelope::from(tx), from);
        Evm::admit(&mut self.evm.truth.chain(), tx).ok();
    }

    /// The bytes of a transaction on EVM at this nonce.
    pub(crate) fn signed(
        &self,
        from: &PrivateKeySigner,
        to: Address,
        nonce: u64,
        data: Vec<u8>,
    ) -> Vec<u8> {
        let tx = self.outbidding(to, nonce, data);
        let signature = from.sign_hash_sync(&tx.signature_hash()).expect("a key signs any digest");
        TxEnvelope::from(tx.into_signed(signature)).encoded_2718()
    }

    /// A transaction on EVM that is not the Signer's, and outbids every other.
    fn outbidding(&self, to: Address, nonce: u64, data: Vec<u8>) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.evm_at.chain_id,
            nonce,
            gas_limit: 500_000,
            max_fee_per_gas: 6_000_000_000_000,
            max_priority_fee_per_gas: 200_000_000_000,
            to: TxKind::Call(to),
            input: data.into(),
            ..TxEip1559::default()
        }
    }

    /// From now on nothing fails any more, and everybody can pay.
    pub(crate) fn heal(&mut self) {
        self.dice.faults = false;
        self.dark_until_ms = [0; 2];
        self.evm.heal();
        self.tron.heal();
        self.evm.truth.chain().family_mut().base_fee = Some(CALM);
        self.broke = [[false; BILLERS]; 2];
        for side in Side::ALL {
            self.fill_tanks(side);
            for who in 1..=CUSTOMERS {
                self.fill_purse(side, who, RICH);
            }
        }
    }
}
