//! The Signer as its users meet it: the real binary, a real chain, and what was paid in the end.

mod happy;

mod bad_input;
mod bad_setup;
mod crash;
mod node;
mod races;
mod secrets;
