//! One account on TRON: no nonces, transactions that expire, attempts that are renewed when those before are dead.

mod broken;
mod gate;
mod nodes;
mod past;
mod signer;
mod space;
mod world;

pub use broken::BrokenRule;
pub use nodes::Pools;
pub use space::{Event, Look, Space};
pub use world::{Budget, World};
