#![doc = include_str!("../README.md")]

mod admin;
mod amount;
mod api;
pub mod auth;
pub mod chain;
pub mod clock;
mod contracts;
mod pages;
mod pay;
pub mod platform;
pub mod roads;
mod serve;
mod store;

pub use platform::{Options, Pace, Platform, SYMBOL, StartError};
pub use serve::{Port, Ports, Running};
pub use store::is_founded;
