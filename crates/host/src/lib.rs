#![doc = include_str!("../README.md")]

pub mod clock;
pub mod confinement;
pub mod disk;
pub mod owner_only;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
