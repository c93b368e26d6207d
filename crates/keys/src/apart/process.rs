//! The process that holds the keys: how it is started or reached, told apart from one that died, and ended.
//!
//! The process is this program again, with one end of a pair of sockets as its standard input and nothing else of
//! ours: no descriptor, no variable but those that the configuration is read from. A thread starts it and waits for
//! its end, for the system ends the process with the thread that started it. If the process is a service of its
//! own, systemd starts one for each connection, and it ends with the connection.

use super::wire::{Manifest, OpenedAs};
use super::{ApartKey, HolderLink, next_message};
use crate::{EveryStore, Hand, Key, KeyError, KeyPlace, OpenKeys};
use alloy::primitives::Address;
use async_trait::async_trait;
use config::{Config, terms};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// The executed file: this very program, whatever stands under its name by now.
const SELF: &str = "/proc/self/exe";

/// Name of the command that holds the keys.
const COMMAND: &str = "hold-keys";

/// Of a process that is no more when it is needed.
const ENDED: &str = "it has ended; what it wrote stands in the log";

/// Time limit for opening all keys: some of them may come from stores that are slow to answer.
const OPENING: Duration = Duration::from_mins(3);

/// Tells why a process that held keys has ended while they were wanted.
#[derive(Debug)]
pub struct Deaths(mpsc::Receiver<String>);

impl Deaths {
    /// Waits for the next one. Nothing is signed after it: the Signer has to be started again.
    pub async fn next(&mut self) -> String {
        let Some(why) = self.0.recv().await else { return std::future::pending().await };
        error!("{why}: the Signer ends, to be started again; nothing that was committed is lost");
        why
    }
}

/// Has the keys of a configuration opened and held by another process, where it says so and the system can do
/// it; all others are opened here.
#[derive(Debug)]
pub struct SplitKeys {
    config: Option<PathBuf>,
    deaths: mpsc::Sender<String>,
}

impl SplitKeys {
    /// For a program whose configuration is read from there.
    pub fn new(config: Option<&Path>) -> (Self, Deaths) {
        let (deaths, told) = mpsc::channel(1);
        (Self { config: config.map(Path::to_owned), deaths }, Deaths(told))
    }

    async fn begin(&self, config: &Config) -> io::Result<ApartKeys> {
        let (mut socket, holder) = match &config.keys.socket {
            Some(path) => self.reach(path).await?,
            None => self.start().await?,
        };
        let mut from = BufReader::new(&mut socket);
        let told = timeout(OPENING, next_message::<Manifest>(&mut from)).await;
        let told =
            told.map_err(|_| io::Error::other("it does not come back from opening the keys"));
        let manifest = told.and_then(|read| read.map_err(|_| io::Error::other(ENDED)));
        let manifest = manifest.inspect_err(|_| holder.end())?;
        if manifest.terms != terms(&config.chains, &config.keys).as_slice() {
            holder.end();
            return Err(io::Error::other(
                "it read another configuration: it has just been changed",
            ));
        }
        let link = HolderLink::over(socket, Arc::clone(&holder));
        // From now on the end of the process is reported; the process may have ended before.
        holder.wanted.store(true, Ordering::SeqCst);
        if holder.gone.is_cancelled() {
            return Err(io::Error::other(ENDED));
        }
        info!(
            process = holder.number.map(Pid::as_raw_pid),
            "the keys are held by a process of their own"
        );
        for lack in &manifest.lacks {
            warn!("the process that holds the keys: {lack}");
        }
        Ok(ApartKeys { manifest, link: Arc::new(link) })
    }

    /// Connects to the service. The user that runs it must be able to do things that this user cannot: systemd
    /// listens as root.
    async fn reach(&self, path: &Path) -> io::Result<(UnixStream, Arc<Holder>)> {
        let at = path.display();
        let told = |why: io::Error| {
            io::Error::other(format!(
                "keys.socket {at} cannot be reached ({why}): is its service enabled?"
            ))
        };
        let socket = UnixStream::connect(path).await.map_err(told)?;
        let (who, ours) = (socket.peer_cred()?.uid(), rustix::process::geteuid());
        if who == ours.as_raw() && !ours.is_root() {
            return Err(io::Error::other(format!(
                "keys.socket {at} is served by this very user, {who}: run its service as another one"
            )));
        }
        Ok((socket, Arc::new(Holder::new(None, self.deaths.clone()))))
    }

    async fn start(&self) -> io::Result<(UnixStream, Arc<Holder>)> {
        let (ours, theirs) = Socket::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        let mut command = Command::new(SELF);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.arg(COMMAND).env_clear().envs(config::own_environment());
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::inherit());
        // Signals that a terminal sends to all of its processes are not meant for this one.
        command.process_group(0);
        let (told, heard) = oneshot::channel();
        let deaths = self.deaths.clone();
        let keep = move || keep(command, told, deaths);
        std::thread::Builder::new().name("holds-keys".to_owned()).spawn(keep)?;
        Ok((socket, heard.await.map_err(io::Error::other)??))
    }
}

/// A process that holds keys.
pub(super) struct Holder {
    /// None where it is a service of its own: it ends with the line to it.
    number: Option<Pid>,
    /// True if somebody wants its keys: then its end is reported.
    pub(super) wanted: AtomicBool,
    /// Cancelled when the process has ended.
    pub(super) gone: CancellationToken,
    /// Cancelled when nothing more is to be heard from the process.
    pub(super) closed: CancellationToken,
    deaths: mpsc::Sender<String>,
}

impl Holder {
    fn new(number: Option<Pid>, deaths: mpsc::Sender<String>) -> Self {
        let (gone, closed) = (CancellationToken::new(), CancellationToken::new());
        Self { number, wanted: AtomicBool::new(false), gone, closed, deaths }
    }

    /// Ends it, if it has not ended.
    pub(super) fn end(&self) {
        self.closed.cancel();
        if let Some(number) = self.number.filter(|_| !self.gone.is_cancelled()) {
            kill_process(number, Signal::KILL).ok();
        }
    }

    /// Notes that the line to it has ended. A process that was started here is waited for, which tells more.
    pub(super) fn hung_up(&self) {
        self.gone.cancel();
        if self.number.is_none() {
            self.tell("its service says why");
        }
    }

    fn tell(&self, how: &str) {
        if self.wanted.load(Ordering::SeqCst) {
            // One is enough to end the Signer.
            self.deaths.try_send(format!("the process that held the keys has ended ({how})")).ok();
        }
    }
}

/// Starts the process, waits for its end, and says so where its keys are wanted.
fn keep(
    mut command: Command,
    told: oneshot::Sender<io::Result<Arc<Holder>>>,
    deaths: mpsc::Sender<String>,
) {
    let started = command.spawn();
    // With it goes our copy of the other end.
    drop(command);
    let mut child = match started {
        Ok(child) => child,
        Err(why) => {
            told.send(Err(why)).ok();
            return;
        }
    };
    let holder = Arc::new(Holder::new(Some(Pid::from_child(&child)), deaths));
    told.send(Ok(Arc::clone(&holder))).ok();
    let ended = child.wait();
    holder.gone.cancel();
    holder.tell(&ended.map_or_else(|why| why.to_string(), |status| status.to_string()));
}

/// The keys that another process has opened.
struct ApartKeys {
    manifest: Manifest,
    link: Arc<HolderLink>,
}

impl fmt::Debug for ApartKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApartKeys").finish_non_exhaustive()
    }
}

impl ApartKeys {
    fn key(&self, config_path: &str) -> Result<Key, KeyError> {
        let places = self.manifest.keys.iter().zip(0_u32..);
        let mut found = places.filter(|(opened, _)| opened.path == config_path);
        let unknown = || KeyError::Apart { said: format!("{config_path}: was not opened") };
        let (opened, place) = found.next().ok_or_else(unknown)?;
        match &opened.outcome {
            Some(OpenedAs::Address(address)) => {
                let address = Address::try_from(address.as_slice()).map_err(|_| unknown())?;
                let asked = Arc::clone(&self.link);
                Ok(Key { hand: Hand::Apart(ApartKey { place, address, asked }), address })
            }
            Some(OpenedAs::Fault(said)) => Err(KeyError::Apart { said: said.clone() }),
            None => Err(unknown()),
        }
    }
}

#[async_trait]
impl OpenKeys for SplitKeys {
    async fn open(
        &self,
        place: KeyPlace,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Key, KeyError> {
        EveryStore.open(place, config_path, allow_test_keys).await
    }

    async fn apart(&self, config: &Config) -> Result<Option<Box<dyn OpenKeys>>, KeyError> {
        let mut keys = config.chains.iter().flat_map(|chain| chain.keys.all());
        let some = keys.any(|(_, key)| key.hands_out());
        if !config.keys.split || !some || !cfg!(target_os = "linux") {
            return Ok(None);
        }
        match self.begin(config).await {
            Ok(keys) => Ok(Some(Box::new(keys))),
            Err(why) => Err(KeyError::NotApart { why }),
        }
    }
}

#[async_trait]
impl OpenKeys for ApartKeys {
    async fn open(
        &self,
        place: KeyPlace,
        config_path: &str,
        allow_test_keys: bool,
    ) -> Result<Key, KeyError> {
        if place.hands_out() {
            place.warn_of_environment();
            return self.key(config_path);
        }
        EveryStore.open(place, config_path, allow_test_keys).await
    }

    fn lacks(&self) -> Option<&[String]> {
        Some(&self.manifest.lacks)
    }
}
