#![doc = include_str!("../README.md")]

pub mod event;
pub mod evm;
pub mod form;
pub mod invalid;
pub mod page;
pub mod tvm;
