//! The read models of a real journal, in a file or on the server that tests/postgres.sh starts.

mod feeding;
mod ledgering;
mod refusing;

use crate::charges::step_of;
use crate::feed::step;
use crate::*;
use alloy::primitives::Address;
use billing::{
    AskedBy, BatchId, BatchState, CallerLabel, ChargeTerms, FailCode, Family, Item, ItemOutcome,
    PlanId, PlatformChainId, SubscribeId,
};
use config::JournalConfig;
use host::clock::Clock;
use journal::testing::{migrate, reading};
use journal::*;
use journal_test_support::*;
use rusqlite::Connection;
