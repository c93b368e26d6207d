#![doc = include_str!("../README.md")]

mod arrivals;
mod connections;
mod crowd;
mod handshakes;
mod lines;
mod manners;
mod patient;
mod serve;
mod shares;

pub use arrivals::{Arrivals, NotRead};
pub use connections::{Busy, Guest};
pub use crowd::Owner;
pub use handshakes::{Handshakes, Terms};
pub use lines::Lines;
pub use manners::Manners;
pub use serve::serve;
pub use shares::{Share, Shares};
