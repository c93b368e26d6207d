//! The laws of the journal, held against a real SQLite file, or against the server that tests/postgres.sh starts.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test may panic, and says what it did"
)]

mod accepting;
mod adopting;
mod again;
mod any_order;
mod auditing;
mod binding;
mod claiming;
mod copying;
mod exchanging;
mod misplaced;
mod naming;
mod opening;
mod pages;
mod passing;
mod pausing;
mod reconciling;
mod resolving;
mod restoring;
mod settling;
mod sharing;
mod spending;
mod taking_up;
mod used_up;
mod versions;

use alloy::primitives::{Address, B256, U256};
use billing::{
    Attempt, AttemptKind, BatchId, BatchState, BlockRef, CallEnding, ChargeKey, ChargeTerms, Claim,
    ClaimState, Execution, Family, ForeignEffect, ForeignTx, InBlocks, Item, ItemOutcome, Landed,
    NamedRequest, Period, PeriodNaming, PlanId, PlatformChainId, Signed, Slot, Subject,
    SubscribeId, TakenAsTold, TxRecord, UserHash, Verdict,
};
use config::JournalConfig;
use journal::sql::{Database, SqlResult};
use journal::store::{self, Migration, OLDEST, Steps};
use journal::testing::Tables as _;
use journal::*;
use journal_test_support::*;
use policy::{Count, Unit};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
