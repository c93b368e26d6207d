//! The Signer as its users meet it: the real binary, a real chain, and what was paid in the end.

mod answers;
mod happy;
mod options;
mod profiles;
mod refusals;
mod repeats;
