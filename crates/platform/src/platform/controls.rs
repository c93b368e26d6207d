//! The sandbox's own controls: what a person or a test does to the world outside the merchant.

use super::{Platform, Side};
use crate::chain::{Refused, TESTERS, tester};
use crate::contracts::{Billing, Token};
use alloy::primitives::{Address, Bytes, U256};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall as _;
use sandbox_chains::town::wallet;

/// Why a control does not work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    #[error(
        "{0} is no wallet of the sandbox: it knows ada, ben, cleo, dan, eve, finn, and the addresses of its subscribers"
    )]
    NoWallet(String),
    #[error("{0} is no address of this chain")]
    NoAddress(String),
    #[error("the chain does not take it: {0}")]
    Refused(#[from] Refused),
}

impl Platform {
    /// A wallet of the sandbox, by the name of a tester or by its address.
    pub(crate) fn wallet_named(
        &self,
        side: &Side,
        name: &str,
    ) -> Result<PrivateKeySigner, ControlError> {
        if TESTERS.contains(&name) {
            return Ok(tester(name));
        }
        let found = side.family().parse(name).and_then(|address| self.built_in(address));
        found.ok_or_else(|| ControlError::NoWallet(name.to_owned()))
    }

    /// An address, or the address of a tester.
    pub(crate) fn address_named(side: &Side, name: &str) -> Result<Address, ControlError> {
        if TESTERS.contains(&name) {
            return Ok(tester(name).address());
        }
        side.family().parse(name).ok_or_else(|| ControlError::NoAddress(name.to_owned()))
    }

    /// A wallet sends tokens (base units); the hash as people write it.
    pub(crate) fn transfer(
        &self,
        side: &Side,
        from: &str,
        to: &str,
        value: U256,
    ) -> Result<String, ControlError> {
        let to = Self::address_named(side, to)?;
        Ok(side.tell_token(&self.wallet_named(side, from)?, &Token::transferCall { to, value })?)
    }

    /// Leaves a wallet exactly so much (base units).
    pub(crate) fn leave(side: &Side, who: &str, value: U256) -> Result<String, ControlError> {
        let who = Self::address_named(side, who)?;
        Ok(side.tell_token(&wallet("owner"), &Token::setBalanceCall { who, value })?)
    }

    /// A wallet that is not of the sandbox gets coins for its fees, and tokens (base units) if it has fewer.
    pub(crate) fn fund(side: &Side, who: &str, value: U256) -> Result<(), ControlError> {
        let to = Self::address_named(side, who)?;
        side.send(&wallet("payee"), to, Bytes::new())?;
        if side.holds(to) < value {
            Self::leave(side, who, value)?;
        }
        Ok(())
    }

    /// An account of somebody's own may bill for the merchant, and gets coins for its fees.
    pub(crate) fn let_bill(side: &Side, who: &str) -> Result<(), ControlError> {
        let who = Self::address_named(side, who)?;
        side.send(&wallet("payee"), who, Bytes::new())?;
        let call = Billing::setBillerCall { merKey: side.town.mer_key, who, allowed: true };
        side.send(&wallet("owner"), side.town.billing, call.abi_encode().into())?;
        Ok(())
    }

    /// A wallet takes back what it allowed the contract.
    pub(crate) fn revoke(&self, side: &Side, who: &str) -> Result<String, ControlError> {
        let call = Token::approveCall { spender: side.town.billing, value: U256::ZERO };
        Ok(side.tell_token(&self.wallet_named(side, who)?, &call)?)
    }

    /// The token's owner blocks a holder, or lets them go.
    pub(crate) fn block_holder(
        side: &Side,
        who: &str,
        blocked: bool,
    ) -> Result<String, ControlError> {
        let who = Self::address_named(side, who)?;
        Ok(side.tell_token(&wallet("owner"), &Token::setBlackListedCall { who, blocked })?)
    }
}
