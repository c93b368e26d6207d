//! Addresses, transactions and provable blocks of TRON.
