//! One way to start, [`start`], for the program, the demonstration and every test. The simulator, with a network of its
//! own, takes its first half, [`assemble`].

mod background;
mod boot;
pub mod certificate;
pub mod charges;
pub mod check;
pub mod claims;
mod confine;
mod connect;
pub mod copies;
pub mod export;
pub mod first;
mod fitness;
mod gates;
mod handover;
mod history_head;
mod hold_keys;
pub mod journal_place;
mod keyring;
pub mod keystores;
mod lanes;
pub mod ledger_commands;
mod ledger_lines;
mod limits;
pub mod networks;
pub mod operate;
mod refusals;
pub mod remote;
mod renewal;
mod rules;
mod running;
mod setup;
mod sockets;
mod standby;
mod supervisor;
pub mod totals;
mod webhook;
mod webhook_cursor;

pub use boot::{Assembled, assemble};
pub use confine::confine;
pub use connect::ConnectError;
pub use fitness::StepDown;
pub use hold_keys::{HoldError, hold, hold_begun};
pub use lanes::Orphans;
pub use running::{Running, start};
pub use sockets::Sockets;

use crate::auth::CallerError;
use config::JournalPlace;
use host::clock::Clock;
use journal::{JournalError, OpenError, Setup, Turn};
use key_stores::KeyStores;
use keys::OpenKeys;
use node::Dial;
use std::fmt;
use std::net::SocketAddr;
use std::{io, thread};
use tokio::runtime::{Builder, Runtime};

/// Why the Signer did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A key or a contract profile is not usable.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The journal was not opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The journal was opened but does not answer.
    #[error(transparent)]
    Resume(#[from] JournalError),
    /// Something is open on a chain that is not configured.
    #[error("{0}")]
    Orphans(Orphans),
    /// The webhook cannot be served, or the file of its cursor cannot be read.
    #[error("the webhook, or the file of its cursor beside the journal: {0}")]
    Webhook(io::Error),
    /// A caller is not usable.
    #[error("callers: {0}")]
    Caller(#[from] CallerError),
    /// The port is not to be had.
    #[error(
        "cannot listen on {address} (http.listen or http.health_listen): {problem}. If the address is in use, \
         `merchant-signer status` says if a Signer runs there already"
    )]
    Listen {
        /// `http.listen` or `http.health_listen`.
        address: SocketAddr,
        /// The system's message.
        problem: io::Error,
    },
    /// Callers would wait in a socket that nobody listens to.
    #[error(
        "a socket was handed over that listens on {0}, and neither http.listen nor http.health_listen says \
         so: write the same address there and in ListenStream"
    )]
    Handed(SocketAddr),
}

/// The parts of its machine that a Signer needs.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The connector through which every endpoint of the configuration is reached.
    pub dial: &'a dyn Dial,
    /// The machine's time.
    pub clock: Clock,
    /// Opens the keys.
    pub keys: &'a dyn OpenKeys,
    /// Opens the journal, or stands by for it.
    pub journal: &'a (dyn Fn(&JournalPlace, Setup) -> Result<Turn, OpenError> + Sync),
}

impl<'a> Machine<'a> {
    /// The machine that the program runs on; every endpoint is reached through `dial`, and keys are held by this
    /// process.
    pub fn real(dial: &'a dyn Dial) -> Self {
        Self {
            dial,
            clock: Clock::MACHINE,
            keys: &KeyStores,
            journal: &journal_place::open_in_turn,
        }
    }
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("dial", &self.dial).finish_non_exhaustive()
    }
}

/// Makes the runtime of a process. Its threads wake one another, mostly in vain: there are two at most. The journal and
/// the keys have threads of their own.
pub fn runtime() -> io::Result<Runtime> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(2);
    Builder::new_multi_thread().worker_threads(workers).enable_all().build()
}
