#![doc = include_str!("../README.md")]

pub mod answer;
pub mod client;
pub mod committee;
pub mod network;
pub mod ssz;
pub mod unproven;
