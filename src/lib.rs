//! The merchant-side Signer: bills due subscriptions, and charges nobody twice for one period.
//!
//! Start with [`app`], the one way to start, and `billing`, the vocabulary and every decision. A charge
//! comes in through [`http`] ([`auth`] checks who asks), is carried through by `engine`, looked at and
//! sent through `chain` (`contract` says how the contract is called, `node` how nodes are asked),
//! allowed by `policy`, signed by `keys`, and made durable by `journal` before a byte leaves the
//! process: crates of their own below `crates/`. `docs/architecture.md` is the map.

pub mod app;
pub mod auth;
pub mod certificates;
pub mod http;
pub mod telemetry;
