//! One chain as the platform knows it: how its people write things, and what its contracts say.

use super::planning::State;
use crate::chain::{Chain, Family, Refused, Sent};
use crate::contracts::{Billing, Token};
use crate::store::plans::Plan;
use alloy::primitives::{Address, Bytes, U256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall;
use parking_lot::Mutex;
use sandbox_chains::town::Town;
use std::sync::Arc;

/// One chain as the platform knows it.
#[derive(Clone, Debug)]
pub struct Side {
    /// The platform's id of the chain.
    pub id: u32,
    /// The chain.
    pub chain: Arc<dyn Chain>,
    /// The contracts, and the subscribers from the start.
    pub town: Town,
    /// The platform's id of the token.
    pub currency: u32,
    /// Decimals of the token.
    pub decimals: u8,
    /// Held from the signature of a transaction until it is sent: two of one key that know nothing of each other would both take the
    /// next nonce.
    pub(super) pen: Arc<Mutex<()>>,
}

/// The symbol of the token on both chains.
pub const SYMBOL: &str = "USDT";

impl Side {
    /// The rules of the chain.
    pub fn family(&self) -> Family {
        self.chain.family()
    }

    /// An address as the chain's people write it.
    pub fn spell(&self, address: Address) -> String {
        self.family().spell(address)
    }

    /// The name in the chain list.
    pub fn name(&self) -> &'static str {
        match self.family() {
            Family::Evm => "sandbox-evm",
            Family::Tron => "sandbox-tron",
        }
    }

    /// Base units as people write them.
    pub(crate) fn show(&self, amount: &str) -> String {
        let value = amount.parse().unwrap_or(U256::ZERO);
        crate::amount::show(value, self.decimals)
    }

    /// Tokens that somebody holds (base units).
    pub fn holds(&self, who: Address) -> U256 {
        self.ask_token(&Token::balanceOfCall { who })
    }

    /// Returns the amount that the contract may take from a wallet (base units).
    pub(crate) fn allowance(&self, owner: Address) -> U256 {
        self.ask_token(&Token::allowanceCall { owner, spender: self.town.billing })
    }

    fn ask_token(&self, call: &impl SolCall) -> U256 {
        let answer = self.chain.view(self.town.token, call.abi_encode().into());
        answer.ok().and_then(|bytes| U256::try_from_be_slice(&bytes)).unwrap_or_default()
    }

    /// Returns the state of a plan's version, by the contract.
    pub(crate) fn state_of(&self, plan: &Plan) -> State {
        let (mer_key, version) = (self.town.mer_key, plan.version);
        let call = Billing::planOfCall { merKey: mer_key, planId: plan.id, version };
        let answer = self.chain.view(self.town.billing, call.abi_encode().into());
        let told =
            answer.ok().and_then(|bytes| Billing::planOfCall::abi_decode_returns(&bytes).ok());
        match told {
            Some(told) if told.approved && !told.paused => State::Active,
            Some(told) if told.terms.amount > 0 => State::Pending,
            Some(_) | None => State::Sent,
        }
    }

    /// Signs a call of the billing contract and sends it; its hash as people write it.
    pub(super) fn tell_contract(
        &self,
        key: &PrivateKeySigner,
        call: &impl SolCall,
    ) -> Result<String, Refused> {
        self.tell(key, self.town.billing, call)
    }

    /// The same of the token.
    pub(super) fn tell_token(
        &self,
        key: &PrivateKeySigner,
        call: &impl SolCall,
    ) -> Result<String, Refused> {
        self.tell(key, self.town.token, call)
    }

    fn tell(
        &self,
        key: &PrivateKeySigner,
        to: Address,
        call: &impl SolCall,
    ) -> Result<String, Refused> {
        let sent = self.send(key, to, Bytes::from(call.abi_encode()))?;
        Ok(self.family().spell_hash(sent.hash))
    }

    /// Signs a call of a contract, or a transfer of coins without data, and sends it.
    pub(super) fn send(
        &self,
        key: &PrivateKeySigner,
        to: Address,
        data: Bytes,
    ) -> Result<Sent, Refused> {
        let pen = self.pen.lock();
        let sent = self.chain.sign(key, to, data);
        self.chain.send(&sent.raw)?;
        drop(pen);
        Ok(sent)
    }
}
