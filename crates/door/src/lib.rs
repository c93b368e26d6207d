#![doc = include_str!("../README.md")]

mod connections;
mod eviction;
mod handshakes;
mod log_limit;
mod pending_bodies;
mod permits;
mod policy;
mod serve;
mod write_timeout;

pub use connections::{BusyGuard, Connection};
pub use eviction::Owner;
pub use handshakes::{Handshakes, Terms};
pub use log_limit::LogLimiter;
pub use pending_bodies::{NotRead, PendingBodies};
pub use permits::{Permit, Permits};
pub use policy::ConnectionPolicy;
pub use serve::serve;
