//! The start of the process that holds the keys, or the connection to it, and the opening of its keys.
//!
//! The process is this program again, with one end of a pair of sockets as its standard input and nothing else of
//! ours: no descriptor, no variable but those that the configuration is read from. A thread starts it and waits for
//! its end, for the system ends the process with the thread that started it. If the process is a service of its
//! own, systemd starts one for each connection, and it ends with the connection.

use super::error::KeyError;
use super::key::Key;
use super::opening::{NamedKey, OpenKeys};
use super::process_key::{KeyProcess, ProcessKey, ProcessLink};
use super::protocol::{Manifest, OpenedAs, next_message};
use super::source;
use alloy::primitives::Address;
use async_trait::async_trait;
use config::{Config, KeyRef};
use rustix::process::Pid;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
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

/// Has the keys of a configuration opened and held by another process, if the configuration says so and the system
/// can do it. All others are opened here.
#[derive(Debug)]
pub struct SplitKeys {
    config: Option<PathBuf>,
    here: Arc<dyn OpenKeys>,
    deaths: mpsc::Sender<String>,
}

impl SplitKeys {
    /// For a program whose configuration is read from `config`, and which opens keys by `here`.
    pub fn new(config: Option<&Path>, here: Arc<dyn OpenKeys>) -> (Self, Deaths) {
        let (deaths, told) = mpsc::channel(1);
        (Self { config: config.map(Path::to_owned), here, deaths }, Deaths(told))
    }

    async fn begin(&self, config: &Config) -> io::Result<OpenedKeys> {
        let (mut socket, process) = match &config.keys.socket {
            Some(path) => self.reach(path).await?,
            None => self.start().await?,
        };
        refuse_programs(config);
        let mut from = BufReader::new(&mut socket);
        let told = timeout(OPENING, next_message::<Manifest>(&mut from)).await;
        let told =
            told.map_err(|_| io::Error::other("it does not come back from opening the keys"));
        let manifest = told.and_then(|read| read.map_err(|_| io::Error::other(ENDED)));
        let manifest = manifest.inspect_err(|_| process.end())?;
        if manifest.config != config.signing_digest.as_slice() {
            process.end();
            return Err(io::Error::other(
                "it read another configuration: it has just been changed",
            ));
        }
        let link = ProcessLink::over(socket, Arc::clone(&process));
        if !process.want() {
            return Err(io::Error::other(ENDED));
        }
        info!(
            process = process.id().map(Pid::as_raw_pid),
            "the keys are held by a process of their own"
        );
        for lack in &manifest.lacks {
            warn!("the process that holds the keys: {lack}");
        }
        Ok(OpenedKeys { manifest, link: Arc::new(link), here: Arc::clone(&self.here) })
    }

    /// Connects to the service. The user that runs it must be able to do things that this user cannot: systemd
    /// listens as root.
    async fn reach(&self, path: &Path) -> io::Result<(UnixStream, Arc<KeyProcess>)> {
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
        Ok((socket, Arc::new(KeyProcess::new(None, self.deaths.clone()))))
    }

    async fn start(&self) -> io::Result<(UnixStream, Arc<KeyProcess>)> {
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

/// Has this process run nothing more: the one program that it starts runs. A library of PKCS#11 may need to.
fn refuse_programs(config: &Config) {
    if config.keys.pkcs11.is_none()
        && let Err(why) = host::confinement::refuse_programs()
    {
        let lack = format!("it may run programs ({why})");
        warn!("the Signer is not confined: {lack}");
    }
}

/// Starts the process, waits for its end, and says so where its keys are wanted.
fn keep(
    mut command: Command,
    told: oneshot::Sender<io::Result<Arc<KeyProcess>>>,
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
    let process = Arc::new(KeyProcess::new(Some(Pid::from_child(&child)), deaths));
    told.send(Ok(Arc::clone(&process))).ok();
    let ended = child.wait();
    process.exited(&ended.map_or_else(|why| why.to_string(), |status| status.to_string()));
}

/// The keys that another process has opened.
struct OpenedKeys {
    manifest: Manifest,
    link: Arc<ProcessLink>,
    /// Opens those that stay in their stores.
    here: Arc<dyn OpenKeys>,
}

impl fmt::Debug for OpenedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedKeys").finish_non_exhaustive()
    }
}

impl OpenedKeys {
    fn key(&self, path: &str) -> Result<Key, KeyError> {
        let mut places = self.manifest.keys.iter().zip(0_u32..);
        let unknown = || KeyError::NotOpened { said: format!("{path}: was not opened") };
        let (opened, place) = places.find(|(opened, _)| opened.path == path).ok_or_else(unknown)?;
        match &opened.outcome {
            Some(OpenedAs::Address(address)) => {
                let address = Address::try_from(address.as_slice()).map_err(|_| unknown())?;
                Ok(ProcessKey::new(place, address, Arc::clone(&self.link)).into())
            }
            Some(OpenedAs::Fault(said)) => Err(KeyError::NotOpened { said: said.clone() }),
            None => Err(unknown()),
        }
    }
}

#[async_trait]
impl OpenKeys for SplitKeys {
    async fn open(&self, key: NamedKey<'_>) -> Result<Key, KeyError> {
        self.here.open(key).await
    }

    async fn split(&self, config: &Config) -> Result<Option<Box<dyn OpenKeys>>, KeyError> {
        if !config.splits_keys() || !cfg!(target_os = "linux") {
            return Ok(None);
        }
        match self.begin(config).await {
            Ok(keys) => Ok(Some(Box::new(keys))),
            Err(why) => Err(KeyError::NoProcess { why }),
        }
    }
}

#[async_trait]
impl OpenKeys for OpenedKeys {
    async fn open(&self, key: NamedKey<'_>) -> Result<Key, KeyError> {
        if key.key.is_remote() {
            return self.here.open(key).await;
        }
        if let KeyRef::Env(_) = key.key {
            source::warn_of_environment();
        }
        self.key(&key.path)
    }

    fn lacks(&self) -> Option<&[String]> {
        Some(&self.manifest.lacks)
    }
}
