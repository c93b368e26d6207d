//! The platform of the specification, on one machine, over the sandbox's chains.
//!
//! A merchant builds and tests its whole integration against it: the API with its signatures, plans that two admins approve, links
//! and the pages behind them, the list of what is due, callbacks, deposits and withdrawals. Everything happens on two real
//! chains in this process, one clock rules it all, and people move that clock.
//!
//! Read in this order: `clock`, `auth`, `chain`, `store`, `platform` with what it does in its folder, then its three hosts:
//! `api`, `pay`, `admin`.

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
