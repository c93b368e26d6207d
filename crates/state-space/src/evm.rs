//! One account on an EVM chain: nonces, pools, attempts that replace one another.

mod broken;
mod gate;
mod signer;
mod space;
mod testimony;
mod world;

pub use broken::BrokenRule;
pub use space::{Event, Look, Space};
pub use testimony::Pools;
pub use world::{Budget, World};
