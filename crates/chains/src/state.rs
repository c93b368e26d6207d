//! Accounts, code and storage after some block, plus whatever the family keeps beside them.
//!
//! A copy shares every account with its original until one of them writes it, so one state per block costs little
//! and any of them can be read, extended or thrown away.

use revm::context::result::EVMError;
use revm::database_interface::{DatabaseCommit, DatabaseRef};
use revm::primitives::{Address, AddressMap, B256, KECCAK_EMPTY, U256};
use revm::state::{AccountInfo, Bytecode};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// The error of running a transaction that may not run.
pub type RunError = EVMError<Infallible>;

/// One account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Balance: wei on EVM, sun on TRON.
    pub balance: U256,
    /// Transactions sent (EVM), contracts created (both).
    pub nonce: u64,
    /// Deployed code, if it is a contract.
    pub code: Option<Bytecode>,
    /// Slots that are not zero.
    pub storage: HashMap<U256, U256>,
}

/// The accounts after a block. `L` is the family's own ledger.
#[derive(Clone, Debug, Default)]
pub struct State<L> {
    accounts: HashMap<Address, Arc<Account>>,
    ledger: Arc<L>,
}

impl<L: Clone + Default> State<L> {
    /// A state with nobody in it.
    pub fn new(ledger: L) -> Self {
        Self { accounts: HashMap::new(), ledger: Arc::new(ledger) }
    }

    /// The account at `address`, if it exists.
    pub fn account(&self, address: &Address) -> Option<&Account> {
        self.accounts.get(address).map(Arc::as_ref)
    }

    /// The account at `address` for writing; made if it does not exist.
    pub fn account_mut(&mut self, address: Address) -> &mut Account {
        Arc::make_mut(self.accounts.entry(address).or_default())
    }

    /// Balance (wei or sun), 0 for nobody.
    pub fn balance(&self, address: &Address) -> U256 {
        self.account(address).map_or(U256::ZERO, |account| account.balance)
    }

    /// The next nonce of an EVM account.
    pub fn nonce(&self, address: &Address) -> u64 {
        self.account(address).map_or(0, |account| account.nonce)
    }

    /// The code at `address`, if it is a contract.
    pub fn code(&self, address: &Address) -> Option<&Bytecode> {
        self.account(address).and_then(|account| account.code.as_ref())
    }

    /// A storage slot, 0 if never written.
    pub fn slot(&self, address: &Address, slot: U256) -> U256 {
        self.account(address)
            .and_then(|account| account.storage.get(&slot).copied())
            .unwrap_or_default()
    }

    /// Returns the family's data beside the accounts.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// The same, for writing.
    pub fn ledger_mut(&mut self) -> &mut L {
        Arc::make_mut(&mut self.ledger)
    }
}

impl<L: Clone + Default> DatabaseCommit for State<L> {
    fn commit(&mut self, changes: AddressMap<revm::state::Account>) {
        for (address, change) in changes {
            if !change.is_touched() {
                continue;
            }
            if change.is_selfdestructed() || (change.is_empty() && !change.is_created()) {
                self.accounts.remove(&address);
                continue;
            }
            let account = self.account_mut(address);
            if change.is_created() {
                account.storage.clear();
            }
            account.balance = change.info.balance;
            account.nonce = change.info.nonce;
            if let Some(code) = change.info.code.filter(|code| !code.is_empty()) {
                account.code = Some(code);
            }
            for (key, slot) in change.storage {
                if slot.present_value.is_zero() {
                    account.storage.remove(&key);
                } else {
                    account.storage.insert(key, slot.present_value);
                }
            }
        }
    }
}

/// A state as revm reads it, with the block hashes that `BLOCKHASH` answers.
#[derive(Debug)]
pub struct View<'a, L> {
    /// The accounts.
    pub state: &'a State<L>,
    /// The ids of past blocks.
    pub hashes: &'a dyn Hashes,
}

/// A source of the ids of past blocks.
pub trait Hashes: std::fmt::Debug {
    /// The id of block `number`, if there is one.
    fn block_id(&self, number: u64) -> Option<B256>;
}

impl<L: Clone + Default> DatabaseRef for View<'_, L> {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.state.account(&address).map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code.as_ref().map_or(KECCAK_EMPTY, Bytecode::hash_slow),
            code: account.code.clone().or_else(|| Some(Bytecode::default())),
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash_ref(&self, _code_hash: B256) -> Result<Bytecode, Infallible> {
        Ok(Bytecode::default()) // never asked: basic_ref hands the code over
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, Infallible> {
        Ok(self.state.slot(&address, slot))
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Infallible> {
        Ok(self.hashes.block_id(number).unwrap_or_default())
    }
}
