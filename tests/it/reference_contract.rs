//! What the reference contract promises, on a real chain.

use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolError,
};

use crate::world::{
    anvil::Anvil,
    contracts::{Kind, Merchant, Plan, Subscriber, Token},
};

mod charges;
mod gas;
mod plans;
mod subscriptions;
mod tokens;

const CHARGED: u8 = 0;
const NOT_FOUND: u8 = 1;
const CANCELLED: u8 = 2;
const TERMS_MISMATCH: u8 = 3;
const ALREADY_CHARGED: u8 = 4;
const ENDED: u8 = 5;
const NOT_DUE_YET: u8 = 6;
const PERIOD_PASSED: u8 = 7;
const PLAN_INACTIVE: u8 = 8;
const TOKEN_PAUSED: u8 = 9;
const HOLDER_BLOCKED: u8 = 10;
const PAYEE_BLOCKED: u8 = 11;
const ALLOWANCE_INSUFFICIENT: u8 = 12;
const BALANCE_INSUFFICIENT: u8 = 13;
const TRANSFER_FAILED: u8 = 14;

const MONTH: u64 = 30 * 24 * 60 * 60;
const PRICE: u128 = 1_000_000;

/// A chain with a merchant on it, and one token.
struct Shop {
    chain: Anvil,
    merchant: Merchant,
    token: Token,
}

impl Shop {
    async fn open() -> Self {
        Self::selling_for(Kind::Plain, 6).await
    }

    async fn selling_for(kind: Kind, decimals: u8) -> Self {
        let chain = Anvil::start().await;
        let rpc = chain.rpc();
        let merchant = Merchant::open(&rpc, chain.accounts[5]).await;
        let token = Token::deploy(&rpc, kind, decimals).await;
        Self { chain, merchant, token }
    }

    async fn monthly(&self, id: u64) -> Plan {
        self.merchant.agree(id, self.merchant.monthly(&self.token, PRICE)).await
    }

    /// A monthly plan 1 with that many subscribers.
    async fn crowd(&self, size: u64) -> Vec<Subscriber> {
        self.merchant.crowd(&self.monthly(1).await, size).await
    }

    /// What the payee has got so far, in prices.
    async fn earned(&self) -> U256 {
        self.token.balance(self.merchant.payee).await / U256::from(PRICE)
    }

    /// A call to the contract fails, and with this error.
    async fn refuses<C, E>(&self, from: Address, call: &C, error: E)
    where
        C: alloy::sol_types::SolCall,
        E: SolError,
    {
        let said = self.chain.refusal(from, self.merchant.billing, call).await;
        assert_eq!(said, Bytes::from(error.abi_encode()), "expected {}", E::SIGNATURE);
    }
}
