#![doc = include_str!("../README.md")]

pub mod clock;
pub mod owner_only;
pub mod tls;
