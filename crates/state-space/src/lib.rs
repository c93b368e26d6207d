#![doc = include_str!("../README.md")]

mod broken;
mod gate;
mod signer;
mod space;
mod testimony;
mod world;

pub use broken::BrokenRule;
pub use space::{Budget, Event, Landing, Look, Mark, Pools, Space, Wanted};
pub use world::World;

#[cfg(test)]
mod tests;
