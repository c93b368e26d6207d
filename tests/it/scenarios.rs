//! The Signer as its users meet it: the real binary, a real chain, and what was paid in the end.

mod answers;
mod bad_input;
mod bad_setup;
mod crash;
mod fleet;
mod happy;
mod hostile_evm;
mod node;
mod options;
mod policy;
mod profiles;
mod races;
mod refusals;
mod repeats;
mod secrets;
mod strangers;
mod three_nodes;
mod verdicts;
