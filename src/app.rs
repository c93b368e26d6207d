//! One way to start: `main` and every test call [`start`], and differ by their configuration only.

use crate::auth::{CallerError, Callers};
use crate::billing::PlatformChainId;
use crate::config::Config;
use crate::engine::{Engine, Lane, Watcher};
use crate::http::{self, Door};
use crate::journal::{Journal, OpenError};
use crate::telemetry::Metrics;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// How long the first look at all chains may take before the port opens all the same.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Why the Signer did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The journal was opened but does not answer.
    #[error(transparent)]
    Resume(#[from] crate::journal::JournalError),
    /// A caller.
    #[error("callers: {0}")]
    Caller(#[from] CallerError),
    /// The port.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// `http.listen`.
        address: SocketAddr,
        /// What the system says.
        problem: std::io::Error,
    },
}
