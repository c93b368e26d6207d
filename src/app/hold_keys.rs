//! The process that holds the keys. It is started by the Signer itself, with one end of a pair of sockets as its
//! standard input; opens the keys by its own reading of the configuration; takes from itself whatever it does
//! not need to sign; and then answers questions until the other end is closed.
//!
//! It logs nothing: what there is to say, the other process says. Whatever it cannot read ends it.

use super::keyring::key_place;
use crate::chain::Desk;
use crate::config::{ChainConfig, Config, ConfigErrors, KeysConfig};
use crate::contract::Profile;
use crate::keys::{
    Ask, EveryStore, HardenError, KeyAnswer, KeyPlace, KeyReply, Manifest, NotSigned,
    OpenKeys as _, Opened, OpenedAs, PinnedKey, frame, harden_process, lock_down, read_frame,
    terms,
};
use alloy::primitives::Signature;
use parking_lot::Mutex;
use prost::Message as _;
use rustix::net::sockopt::{socket_domain, socket_peercred, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::fmt::Display;
use std::io::{self, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use tokio::signal::unix::{SignalKind, signal};

/// The most threads that sign. Each signature takes a fraction of a millisecond.
const MOST_THREADS: usize = 4;

/// Why the process did not hold keys, or ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Somebody started it by hand.
    #[error("hold-keys is a part of the Signer, which starts it itself")]
    NotOurs,
    /// The process could not be closed to its neighbours.
    #[error(transparent)]
    Open(#[from] HardenError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// What came over the socket is no question.
    #[error("the process that holds the keys was told something that it does not understand: {0}")]
    Nonsense(#[from] prost::DecodeError),
    /// The system does not let it work.
    #[error("the process that holds the keys: {0}")]
    System(#[from] io::Error),
}

/// A key that is held, and what it is held with.
struct HeldKey {
    desk: Desk,
    _pinned: Option<PinnedKey>,
}

/// Every key that was to be opened, in the order of the [`Manifest`].
type HeldKeys = Vec<Option<HeldKey>>;

/// Holds keys until whoever started it has ended, or wants no more.
pub fn hold(config: Option<&Path>) -> Result<(), HoldError> {
    harden_process()?;
    let socket = handed_over()?;
    let config = Config::load(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (manifest, held) = runtime.block_on(open(&config))?;
    drop(runtime);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    serve(socket, manifest, held, threads)
}

/// The socket that the process was started with, if it was started by who made it.
fn handed_over() -> Result<UnixStream, HoldError> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let kind = (socket_domain(&socket).ok(), socket_type(&socket).ok());
    if kind != (Some(AddressFamily::UNIX), Some(SocketType::STREAM)) {
        return Err(HoldError::NotOurs);
    }
    // With the process, or the thread of it, that started this one.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let made_by = socket_peercred(&socket).map_err(io::Error::from)?.pid;
    if getppid() == Some(made_by) { Ok(socket.into()) } else { Err(HoldError::NotOurs) }
}

/// Opens every key that can be held here, one after the other: one that is encrypted takes 256 MiB meanwhile.
async fn open(config: &Config) -> io::Result<(Manifest, HeldKeys)> {
    // They mean the Signer, which ends this process when it has done what it had to.
    for stays in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        drop(signal(stays)?);
    }
    let mut manifest = Manifest { terms: terms(config).to_vec(), ..Manifest::default() };
    let mut held = HeldKeys::new();
    for chain in &config.chains {
        let family = &chain.family;
        // What is wrong with it, the other process finds as well, and says.
        let Ok(profile) = Profile::parse(family.billing(), family.family()) else { continue };
        let profile = Arc::new(profile);
        for (path, place) in places(chain, &config.keys) {
            let opened = EveryStore.open(place, &path, chain.test).await;
            let (outcome, key) = match opened {
                Ok(key) => {
                    let pinned = key.pin();
                    manifest.lacks.extend(pinned.as_ref().err().map(|why| unpinned(&path, why)));
                    let desk = Desk::new(chain, Arc::clone(&profile), key);
                    let address = OpenedAs::Address(desk.address().to_vec());
                    (address, Some(HeldKey { desk, _pinned: pinned.ok().flatten() }))
                }
                Err(why) => (OpenedAs::Fault(why.to_string()), None),
            };
            manifest.keys.push(Opened { path, outcome: Some(outcome) });
            held.push(key);
        }
    }
    Ok((manifest, held))
}

/// Where the keys of a chain are that can be held here, and how the operator knows them.
fn places(chain: &ChainConfig, keys: &KeysConfig) -> Vec<(String, KeyPlace)> {
    let named = |place: &str| format!("chains.{}.{place}", chain.platform_id);
    let all = chain.keys.all().filter(|(_, key)| key.hands_out());
    let all =
        all.filter_map(|(place, key)| Some((named(&place), key_place(chain, key, keys).ok()?)));
    all.collect()
}

fn unpinned(path: &str, why: &dyn Display) -> String {
    format!(
        "the memory of {path} may be written to swap ({why}): raise its limit of locked memory, or switch swap \
         off"
    )
}

/// Answers questions with so many threads: each reads one, answers it, and reads the next.
fn serve(
    socket: UnixStream,
    mut manifest: Manifest,
    held: HeldKeys,
    threads: usize,
) -> Result<(), HoldError> {
    let mut first = socket.try_clone()?;
    let window = Arc::new(Window {
        questions: Mutex::new(BufReader::new(socket.try_clone()?)),
        answers: Mutex::new(socket),
        held,
    });
    // Passed twice: when all of them run, since none can begin later, and when they may answer.
    let ready = Arc::new(Barrier::new(threads));
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let (window, ready) = (Arc::clone(&window), Arc::clone(&ready));
            thread::Builder::new().spawn(move || {
                ready.wait();
                ready.wait();
                window.answer_all()
            })
        })
        .collect::<Result<_, _>>()?;
    ready.wait();
    manifest.lacks.extend(lock_down().err());
    first.write_all(&frame(&manifest)?)?;
    ready.wait();
    window.answer_all()?;
    for other in others {
        other.join().map_err(|_| io::Error::other("one of its threads has ended"))??;
    }
    Ok(())
}

/// Where questions come in and answers go out.
struct Window {
    questions: Mutex<BufReader<UnixStream>>,
    answers: Mutex<UnixStream>,
    held: HeldKeys,
}

impl Window {
    fn answer_all(&self) -> Result<(), HoldError> {
        loop {
            let read = read_frame(&mut *self.questions.lock())?;
            let Some(read) = read else { return Ok(()) };
            let Ask { id, key, question } = Ask::decode(read.as_slice())?;
            let place = usize::try_from(key).unwrap_or(usize::MAX);
            let held = self.held.get(place).and_then(Option::as_ref);
            let (Some(held), Some(question)) = (held, question) else {
                return Err(io::Error::other(
                    "a question without a key, or a key that is not held",
                )
                .into());
            };
            let Some(signed) = held.desk.answer(&question) else { continue };
            let answer = frame(&KeyAnswer { id, said: Some(said(signed)) })?;
            self.answers.lock().write_all(&answer)?;
        }
    }
}

fn said(signed: Result<Signature, NotSigned>) -> KeyReply {
    match signed {
        Ok(signature) => KeyReply::Signature(signature.as_bytes().to_vec()),
        Err(NotSigned::Refused(refusal)) => KeyReply::Refused(refusal.into()),
        Err(NotSigned::Failed(_)) => KeyReply::Failed(true),
    }
}
