//! Journals on the server that tests/postgres.sh starts: `./test --only postgres`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test may panic, and says what it did"
)]

mod away;
mod differing;
mod encrypted;
mod lacking;
mod left_behind;
mod long_work;
mod losing;
mod migrating;
mod moving;
mod plans;
mod pooled;
mod rights;
mod role;
mod standing_by;
mod trips;
mod unfit;

use billing::{Item, PlatformChainId};
use config::JournalConfig;
use host::clock::Clock;
use journal::sql::{Database, SqlResult};
use journal::store::{Migration, Steps};
use journal::testing::Tables as _;
use journal::*;
use journal_pg::{Migrated, ServerAndOwner, ServerConfig, to_file, to_server};
use journal_test_support::server::{
    PATIENCE, PlainSession, ROLE, config, given, made, opened, ran, schema, within,
};
use journal_test_support::*;
use policy::Unit;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio_postgres::Config;
