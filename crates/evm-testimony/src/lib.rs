#![doc = include_str!("../README.md")]

pub mod conclude;
pub mod errors;
pub mod facts;
