//! The Signer's requests to the machine: its clock, files that their owner alone reads, and TLS.

pub mod clock;
pub mod owner_only;
pub mod tls;
