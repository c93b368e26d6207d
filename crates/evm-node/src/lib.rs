#![doc = include_str!("../README.md")]

mod block;
mod facts;
mod questions;
mod taker_search;

pub use block::{Block, Identified, TxCall};
pub use facts::{EvmNodeFacts, Ways};
pub use questions::{
    Call, ETH_CALL, EvmAsker, FullBlock, Header, JsonReceipt, PoolContent, Tips, Transaction, View,
    account_told, balance, block_told, by_nonce, call, code, estimate_gas, full_block, gas_price,
    header, header_told, header_told_at, median_tip, nonce, nonce_at, pool_content, quantity,
    receipt, receipt_told, receipts_told, tips,
};
pub use taker_search::{Archive, first_above};
