//! The EVM adapter.
