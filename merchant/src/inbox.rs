//! The inbox, `merchant inbox`: takes callbacks, keeps each on disk before it says `success`, has
//! the chain's word on billings, and hands events on.
//!
//! | module | what it owns |
//! | --- | --- |
//! | `incoming` | which deliveries are one event, and which events keep their order. Pure |
//! | `outcome` | what the Signer's status says about a billing callback. Pure |
//! | `onward` | the meaning of the merchant's own answer. Pure |
//! | `shelf` | the store, and the one thread that owns it |
//! | `doors`, `serve` | HTTP: callbacks in public, the feed in private |
//! | `check`, `push` | the two loops that carry the decisions out |
//! | `desk` | what people do with the store: `merchant events` |

mod check;
mod desk;
mod doors;
mod incoming;
mod metrics;
mod onward;
mod outcome;
mod push;
mod serve;
mod shelf;

pub use desk::{EventDesk, EventFilter, EventLine};
pub use shelf::ShelfFailed;

use crate::Client;
use crate::callback::Receiver;
use crate::pause_clock::PauseClock;
use crate::sign::Credentials;
use crate::signer::SignerClient;
use crate::stop::stopped;
use crate::store::StoreError;
use check::Checker;
use clap::Args;
use doors::{Doors, private, public};
use metrics::Metrics;
use push::Pusher;
use reqwest::Url;
use shelf::Shelf;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use webhooks::WebhookSecret;

/// Pause between two looks at a sandbox's clock.
const BEAT: Duration = Duration::from_millis(250);

/// Receive callbacks, keep them, and hand them on.
#[derive(Clone, Debug, Args)]
pub struct InboxOptions {
    /// The state file; made if there is none. One inbox to one file
    #[arg(long, default_value = "inbox.db")]
    pub state: PathBuf,
    /// Address for incoming callbacks; put TLS in front of it
    #[arg(long, default_value = "127.0.0.1:9981")]
    pub listen: SocketAddr,
    /// Address of the feed, health and metrics; keep it private
    #[arg(long, default_value = "127.0.0.1:9982")]
    pub private: SocketAddr,
    /// A path of a notify address; may be given more than once
    #[arg(long = "path", value_name = "PATH", default_value = "/callbacks")]
    pub paths: Vec<String>,
    /// Seconds in which a billing that the Signer does not know may still become known
    #[arg(long, default_value_t = 3600)]
    pub patience: u32,
    /// Makes every pause so many times shorter: for tests
    #[arg(long, default_value_t = 1, hide = true)]
    pub pace: u32,
    /// Address at which a sandbox tells its time, which all pauses then follow: <http://127.0.0.1:7102/sandbox>
    #[arg(long, value_name = "URL")]
    pub clock: Option<Url>,
}

/// The peers of the inbox.
#[derive(Clone, Debug)]
pub struct InboxConnections {
    /// The receiver, which knows the allowed senders.
    pub receiver: Receiver,
    /// Credentials for the private side.
    pub private: Credentials,
    /// Says what the chain did. Without it billing events are handed on with no outcome.
    pub signer: Option<SignerClient>,
    /// Says which subscription an order is, where a callback does not.
    pub platform: Option<Client>,
    /// The merchant's own address and the secret that events are signed with. Without it events are
    /// there to be pulled.
    pub onward: Option<(String, WebhookSecret)>,
}

/// Why the inbox ended.
#[derive(Debug, Error)]
pub enum InboxError {
    /// The state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store failed while it was used. Callbacks that were not acknowledged will be sent again.
    #[error(transparent)]
    Failed(#[from] ShelfFailed),
    /// An address cannot be served.
    #[error("{address} cannot be served: {why}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's message.
        why: std::io::Error,
    },
    /// The address that events are handed on to is none.
    #[error("{url:?} is no address to hand events on to: {why}")]
    Onward {
        /// The text that was given.
        url: String,
        /// The problem that was found.
        why: String,
    },
}

/// Runs `merchant inbox` until it is told to stop.
pub async fn inbox(options: InboxOptions, peers: InboxConnections) -> Result<(), InboxError> {
    let (shelf, failed) = Shelf::open(&options.state)?;
    let clock = PauseClock::of(options.clock.as_ref());
    clock.follow().await;
    let metrics = Arc::new(Metrics::new());
    let mut loops = JoinSet::new();
    let pace = i64::from(options.pace.max(1));
    if clock.is_followed() {
        loops.spawn(keep_up(clock.clone()));
    }
    let checks = peers.signer.is_some();
    if let Some(signer) = peers.signer {
        let patience_ms = i64::from(options.patience).saturating_mul(1000);
        let (shelf, metrics, platform) = (shelf.clone(), Arc::clone(&metrics), peers.platform);
        let clock = clock.clone();
        loops.spawn(Checker { clock, shelf, signer, platform, patience_ms, pace, metrics }.run());
    }
    if let Some((url, secret)) = peers.onward {
        let wrong = |why: String| InboxError::Onward { url: url.clone(), why };
        let address = Url::parse(&url).map_err(|error| wrong(error.to_string()))?;
        let http = push::http(&url).map_err(|error| wrong(error.to_string()))?;
        let (shelf, metrics) = (shelf.clone(), Arc::clone(&metrics));
        let clock = clock.clone();
        loops.spawn(Pusher { clock, shelf, http, address, secret, pace, metrics }.run());
    }
    let doors = Arc::new(Doors { clock, shelf, metrics, private: vec![peers.private], checks });
    let (callbacks, feed) = (bind(options.listen).await?, bind(options.private).await?);
    tell(&callbacks, &feed);
    tokio::select! {
        () = serve::serve(callbacks, public(&doors, &peers.receiver, &options.paths)) => Ok(()),
        () = serve::serve(feed, private(&doors)) => Ok(()),
        Some(ended) = loops.join_next() => match ended {
            Ok(ended) => Ok(ended?),
            // A loop that panicked is as good as a store that failed: start anew.
            Err(_) => Err(ShelfFailed.into()),
        },
        _ = failed => Err(ShelfFailed.into()),
        () = stopped() => Ok(()),
    }
}

/// Follows a clock for as long as the program runs.
async fn keep_up(clock: PauseClock) -> Result<(), ShelfFailed> {
    loop {
        tokio::time::sleep(BEAT).await;
        clock.follow().await;
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, InboxError> {
    TcpListener::bind(address).await.map_err(|why| InboxError::Bind { address, why })
}

/// One line with the addresses: port 0 is any free one.
fn tell(callbacks: &TcpListener, feed: &TcpListener) {
    let spelled = |listener: &TcpListener| {
        listener.local_addr().map_or_else(|why| why.to_string(), |address| address.to_string())
    };
    let line = format!("inbox: callbacks on {}, feed on {}", spelled(callbacks), spelled(feed));
    // With standard output gone there is nobody to tell.
    writeln!(std::io::stdout(), "{line}").unwrap_or_default();
}
