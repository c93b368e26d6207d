//! The vocabulary of billing. Pure: no clock, no socket, no database.

pub mod ids;
