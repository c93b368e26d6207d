//! Addresses, offline transactions and provable blocks of TRON.
//!
//! A node's HTTP answer is a claim. Everything here is recomputed from the claim's own bytes, with no
//! network, no clock and no state:
//!
//! * [`address`]: the three spellings of an address;
//! * [`transaction`]: a contract call that is built, signed and read back offline;
//! * [`block`]: a block's id, its transactions and its producer, proven from an [`answer`];
//! * [`finality`]: whether enough elected producers stand on a block, so that it cannot be undone;
//! * [`result`]: the closed list of words for how a call went;
//! * [`messages`]: the protobuf behind all of it.

pub mod address;
pub mod answer;
pub mod block;
pub mod finality;
pub mod messages;
pub mod result;
pub mod transaction;
