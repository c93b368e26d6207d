#![doc = include_str!("../README.md")]

mod block_proof;
mod committees;
mod final_chain;
mod finality_proof;
mod headers;
mod pin;
mod progress;
mod proven_blocks;
mod seals;
mod witnesses;

#[cfg(test)]
mod made_nodes;

pub use block_proof::{BlockProof, NoProof, ReceiptsBy};
pub use final_chain::{FinalChain, Rewritten};
pub use headers::header;
pub use witnesses::{Need, NewestFinal};
