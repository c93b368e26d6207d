#![doc = include_str!("../README.md")]

pub mod following;
pub mod run;
pub mod seal;
pub mod unproven;
pub mod validators;
