//! A state in which a contract that is being made is there already.

use super::super::ledger::Ledger;
use crate::state::View;
use revm::bytecode::Bytecode;
use revm::database_interface::DatabaseRef;
use revm::primitives::{Address, B256, Bytes, U256};
use revm::state::AccountInfo;
use std::convert::Infallible;

/// A state in which a deployment's creation code already stands at the new address.
#[derive(Debug)]
pub(super) struct Overlay<'a> {
    pub(super) view: View<'a, Ledger>,
    pub(super) code: Option<(Address, Bytes)>,
}

impl DatabaseRef for Overlay<'_> {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        let info = self.view.basic_ref(address)?;
        Ok(match &self.code {
            Some((at, code)) if *at == address => {
                let code = Bytecode::new_legacy(code.clone());
                let info = info.unwrap_or_default();
                Some(AccountInfo {
                    nonce: 1,
                    code_hash: code.hash_slow(),
                    code: Some(code),
                    ..info
                })
            }
            Some(_) | None => info,
        })
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, Infallible> {
        self.view.code_by_hash_ref(hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, Infallible> {
        self.view.storage_ref(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Infallible> {
        self.view.block_hash_ref(number)
    }
}
