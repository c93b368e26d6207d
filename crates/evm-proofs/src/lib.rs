#![doc = include_str!("../README.md")]

pub mod account;
pub mod answer;
pub mod block;
pub mod block_id;
pub mod header;
pub mod receipts;
pub mod transactions;
pub mod trie;
pub mod unproven;
