#![doc = include_str!("../README.md")]

pub mod address;
pub mod answer;
pub mod block;
pub mod finality;
mod leaf;
pub mod messages;
pub mod path;
pub mod result;
pub mod transaction;
pub mod unjudged;
