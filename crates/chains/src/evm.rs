//! The Ethereum family: raw signed transactions, nonces, gas and a base fee, by revm's own mainnet rules.
//!
//! The JSON-RPC face needs these parts of it: [`decode`] and [`Evm::admit`] for `eth_sendRawTransaction`,
//! [`Evm::run`] for `eth_call` and `eth_estimateGas`, [`Receipt`] for receipts and logs.

pub mod sealed;

use crate::chain::{Block, Chain, Commitments, Family, Header, Included, Pending, Site, Verdict};
use crate::curve;
use crate::memo::Memo;
use crate::state::{Hashes, RunError, State, View};
use alloy::consensus::transaction::Recovered;
use alloy::consensus::{Transaction, TxEnvelope};
use alloy::eips::eip1559::BaseFeeParams;
use alloy::eips::eip2718::{Decodable2718, Encodable2718};
use revm::context::result::{ExecutionResult, ResultAndState};
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::either::Either;
use revm::database_interface::{DatabaseCommit, WrapDatabaseRef};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, B256, KECCAK_EMPTY, TxKind, U256};
use revm::state::Bytecode;
use revm::{ExecuteEvm, MainBuilder, MainContext};

/// The rules of an Ethereum chain.
#[derive(Clone, Copy, Debug)]
pub struct Evm {
    /// Chain id.
    pub chain_id: u64,
    /// The hard fork in force.
    pub spec: SpecId,
    /// Gas limit of a block.
    pub gas_limit: u64,
    /// The base fee (wei) of the next blocks, if it is not to follow demand.
    pub base_fee: Option<u64>,
}

/// A signed transaction with its sender.
pub type Tx = Recovered<TxEnvelope>;

/// The receipt of an included transaction on an Ethereum chain.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Status, output and logs, as the EVM gave them. A halt has no output.
    pub result: ExecutionResult,
    /// Gas used by the transaction.
    pub gas_used: u64,
    /// Gas used in the block up to and with it.
    pub cumulative_gas_used: u64,
    /// Price paid per gas (wei).
    pub gas_price: u128,
    /// The contract that it created.
    pub created: Option<Address>,
}

/// Why the pool does not take a transaction, in geth's order of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The same transaction is in the pool.
    AlreadyKnown,
    /// It is signed for another chain.
    WrongChain,
    /// More gas than a block has.
    GasLimit,
    /// Below what the transaction costs before it runs.
    IntrinsicGas,
    /// Its nonce is used up; the next one is `next`.
    NonceTooLow {
        /// The account's next nonce.
        next: u64,
    },
    /// The tip exceeds the whole price.
    TipAboveCap,
    /// The sender cannot pay value and gas.
    Funds,
    /// Another transaction has this nonce, and this one does not outbid it by a tenth.
    Underpriced,
}

/// Reads the bytes of `eth_sendRawTransaction` and finds the sender; None if they are not a signed transaction.
pub fn decode(raw: &[u8]) -> Option<Tx> {
    thread_local! {
        static READ: Memo<Vec<u8>, Option<Tx>> = Memo::new();
    }
    let read = |raw: &Vec<u8>| {
        let envelope = TxEnvelope::decode_2718_exact(raw).ok()?;
        let signer = signer(&envelope)?;
        Some(Recovered::new_unchecked(envelope, signer))
    };
    READ.with(|known| known.get(raw.to_vec(), read))
}

/// Returns the signer of a transaction; None if no key can have signed it, or if the signature is one of two that
/// are as good (EIP-2).
fn signer(tx: &TxEnvelope) -> Option<Address> {
    let signature = tx.signature();
    if signature.to_k256().is_err() || signature.normalize_s().is_some() {
        return None;
    }
    let [r, s] = [signature.r(), signature.s()].map(|half| half.to_be_bytes::<32>());
    let nonce = curve::point(&r, signature.v())?;
    curve::signer(&tx.signature_hash(), &nonce, [&r, &s])
}

impl Default for Evm {
    fn default() -> Self {
        Self { chain_id: 31_337, spec: SpecId::PRAGUE, gas_limit: 30_000_000, base_fee: None }
    }
}

impl Evm {
    /// Takes a transaction into the pool of `chain`, replacing the one with its nonce if it pays a tenth more.
    pub fn admit(chain: &mut Chain<Self>, tx: Tx) -> Result<B256, Refusal> {
        let id = Self::id(&tx);
        let rules = *chain.family();
        if chain.pool().get(&id).is_some() {
            return Err(Refusal::AlreadyKnown);
        }
        rules.admissible(&tx, chain.head_state())?;
        let rival = chain.pool().iter().find(|pending| same_slot(&pending.tx, &tx)).cloned();
        if let Some(rival) = rival {
            if !outbids(&tx, &rival.tx) {
                return Err(Refusal::Underpriced);
            }
            chain.pool_mut().remove(&rival.id);
        }
        chain.submit(tx);
        Ok(id)
    }

    fn admissible(&self, tx: &Tx, state: &State<()>) -> Result<(), Refusal> {
        if tx.chain_id().is_some_and(|id| id != self.chain_id) {
            return Err(Refusal::WrongChain);
        }
        if tx.gas_limit() > self.gas_limit {
            return Err(Refusal::GasLimit);
        }
        if tx.max_priority_fee_per_gas().is_some_and(|tip| tip > tx.max_fee_per_gas()) {
            return Err(Refusal::TipAboveCap);
        }
        let next = state.nonce(&tx.signer());
        if tx.nonce() < next {
            return Err(Refusal::NonceTooLow { next });
        }
        let cost = U256::from(tx.gas_limit()) * U256::from(tx.max_fee_per_gas()) + tx.value();
        if state.balance(&tx.signer()) < cost {
            return Err(Refusal::Funds);
        }
        let intrinsic =
            CfgEnv::new_with_spec(self.spec).gas_params.initial_tx_gas_for_tx(tx_env(tx), None);
        if tx.gas_limit() < intrinsic.initial_total_gas().max(intrinsic.floor_gas()) {
            return Err(Refusal::IntrinsicGas);
        }
        Ok(())
    }

    /// Runs `tx` on `state` as if in a block with `header`, and gives the result with the changes it would make.
    /// `Checks::Off` is for `eth_call` and `eth_estimateGas`: no balance, nonce or fee is asked for.
    pub fn run(
        &self,
        header: &Header,
        state: &State<()>,
        hashes: &dyn Hashes,
        tx: TxEnv,
        checks: Checks,
    ) -> Result<ResultAndState, RunError> {
        let mut cfg = CfgEnv::new_with_spec(self.spec);
        cfg.chain_id = self.chain_id;
        if checks == Checks::Off {
            cfg.disable_nonce_check = true;
            cfg.disable_balance_check = true;
            cfg.disable_block_gas_limit = true;
            cfg.disable_eip3607 = true;
            cfg.disable_base_fee = true;
            cfg.disable_fee_charge = true;
            cfg.tx_chain_id_check = false;
            cfg.tx_gas_limit_cap = Some(u64::MAX);
        }
        let block = BlockEnv {
            number: U256::from(header.number),
            beneficiary: header.producer,
            timestamp: U256::from(header.time_ms / 1000),
            gas_limit: header.gas_limit,
            basefee: header.price,
            difficulty: U256::ZERO,
            prevrandao: Some(sealed::randomness(header)),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
                excess_blob_gas: 0,
                blob_gasprice: 1,
            }),
            slot_num: header.number,
        };
        Context::mainnet()
            .with_db(WrapDatabaseRef(View { state, hashes }))
            .with_block(block)
            .with_cfg(cfg)
            .build_mainnet()
            .transact(tx)
    }
}

/// The checks that a run makes: those of a block, or those of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// As in a block.
    On,
    /// As in a call.
    Off,
}

impl Family for Evm {
    type Tx = Tx;
    type Receipt = Receipt;
    type Ledger = ();

    fn id(tx: &Tx) -> B256 {
        *tx.tx_hash()
    }

    fn open(&self, parent: &Block<Self>, time_ms: u64, fork: u64) -> Header {
        let used = parent.body.last().map_or(0, |last| last.receipt.cumulative_gas_used);
        let followed = BaseFeeParams::ethereum().next_block_base_fee(
            used,
            parent.header.gas_limit,
            parent.header.price,
        );
        Header {
            number: parent.header.number + 1,
            time_ms,
            parent_ms: parent.header.time_ms,
            parent: parent.id,
            producer: Address::repeat_byte(0xc0),
            price: self.base_fee.unwrap_or(followed),
            gas_limit: self.gas_limit,
            fork,
            commitments: Commitments::default(),
        }
    }

    fn pick(&self, state: &State<()>, waiting: &[Pending<Tx>]) -> Option<usize> {
        let ready = |(_, pending): &(usize, &Pending<Tx>)| {
            pending.tx.nonce() <= state.nonce(&pending.tx.signer())
        };
        let best = waiting.iter().enumerate().filter(ready).max_by_key(|(index, pending)| {
            (
                pending.tx.max_priority_fee_per_gas().unwrap_or(pending.tx.max_fee_per_gas()),
                usize::MAX - index,
            )
        });
        best.map(|(index, _)| index)
    }

    fn include(&self, at: Site<'_, Self>, state: &mut State<()>, tx: &Tx) -> Verdict<Receipt> {
        let before = at.body.last().map_or(0, |last| last.receipt.cumulative_gas_used);
        let nonce = state.nonce(&tx.signer());
        if tx.nonce() < nonce {
            return Verdict::Dropped;
        }
        if before + tx.gas_limit() > at.header.gas_limit
            || tx.max_fee_per_gas() < u128::from(at.header.price)
        {
            return Verdict::Wait;
        }
        let Ok(done) = self.run(at.header, state, at.hashes, tx_env(tx), Checks::On) else {
            return Verdict::Dropped;
        };
        state.commit(done.state);
        let gas_used = done.result.tx_gas_used();
        Verdict::Included(Receipt {
            gas_used,
            cumulative_gas_used: before + gas_used,
            gas_price: tx.effective_gas_price(Some(at.header.price)),
            created: tx.kind().is_create().then(|| tx.signer().create(nonce)),
            result: done.result,
        })
    }

    fn seal(&self, header: &mut Header, body: &[Included<Self>]) -> B256 {
        header.commitments = sealed::commitments(body);
        sealed::header(header).hash_slow()
    }
}

/// A signed transaction as revm runs it.
pub fn tx_env(tx: &Tx) -> TxEnv {
    let authorizations = tx.authorization_list().unwrap_or_default();
    TxEnv {
        tx_type: tx.type_flag().unwrap_or_default(),
        caller: tx.signer(),
        gas_limit: tx.gas_limit(),
        gas_price: tx.max_fee_per_gas(),
        kind: tx.to().map_or(TxKind::Create, TxKind::Call),
        value: tx.value(),
        data: tx.input().clone(),
        nonce: tx.nonce(),
        chain_id: tx.chain_id(),
        access_list: tx.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: tx.max_priority_fee_per_gas(),
        authorization_list: authorizations.iter().cloned().map(Either::Left).collect(),
        ..TxEnv::default()
    }
}

/// The hash of an account's code, as `eth_getProof` and `EXTCODEHASH` give it.
pub fn code_hash(state: &State<()>, address: &Address) -> B256 {
    state.code(address).map_or(KECCAK_EMPTY, Bytecode::hash_slow)
}

fn same_slot(a: &Tx, b: &Tx) -> bool {
    a.signer() == b.signer() && a.nonce() == b.nonce()
}

fn outbids(new: &Tx, old: &Tx) -> bool {
    let enough = |new: u128, old: u128| new * 10 >= old * 11;
    enough(new.max_fee_per_gas(), old.max_fee_per_gas())
        && enough(
            new.max_priority_fee_per_gas().unwrap_or(new.max_fee_per_gas()),
            old.max_priority_fee_per_gas().unwrap_or(old.max_fee_per_gas()),
        )
}
