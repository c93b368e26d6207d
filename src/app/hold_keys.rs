//! The process that holds the keys. The Signer itself starts it, with one end of a pair of sockets as its standard
//! input, or systemd does, with a connection to a socket that is the Signer's alone. The process reads the
//! configuration for itself; begins anew with the part that signing needs, so that no other secret is in its memory;
//! opens the keys; gives up whatever it does not need to sign; and answers questions until the other end is closed.
//!
//! This process logs nothing: the other process says everything there is to say. Input that it cannot read ends the
//! process, with all of its threads: after an invalid frame, the start of the next one is not known.

use alloy::primitives::Signature;
use config::{ChainConfig, ConfigErrors, SigningConfig, SigningText, certificates};
use contract::Profile;
use host::clock::Clock;
use host::confinement::{HardenError, harden_process};
use key_stores::KeyStores;
use keys::{
    Ask, CeilingFault, DayCeiling, KeyAnswer, KeyError, KeyQuestion, KeyReply, LocalKey, Manifest,
    NamedKey, NotSigned, OpenKeys as _, Opened, OpenedAs, PinnedKey, frame, lock_down, read_frame,
};
use parking_lot::Mutex;
use prost::Message as _;
use rustix::net::sockopt::{socket_domain, socket_peercred, socket_type};
use rustix::net::{AddressFamily, SocketType};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signing::TransactionJudge;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;
use tokio::signal::unix::{SignalKind, signal};

/// The most threads that sign. Each signature takes a fraction of a millisecond.
const MOST_THREADS: usize = 4;

/// Why the process did not hold keys, or ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Somebody started it by hand.
    #[error(
        "hold-keys is a part of the Signer, which starts it itself, or has systemd start it for a connection"
    )]
    NotOurs,
    /// Somebody else than the owner of the socket asks.
    #[error("user {asks} asks for keys over a socket of user {owner}, who alone may")]
    Stranger {
        /// The user who asks.
        asks: u32,
        /// Owner of the socket.
        owner: u32,
    },
    /// The process could not be closed to its neighbours.
    #[error(transparent)]
    Open(#[from] HardenError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The file of what was signed today cannot be used.
    #[error("keys.ceiling_file: what was signed today cannot be read from {}: {why}. Find out how that came to be, \
             then move the file away: the ceilings of today begin at zero without it", path.display())]
    Ceiling {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: CeilingFault,
    },
    /// The directory of that file is not there.
    #[error("keys.ceiling_file: the directory of {} does not exist: mount its disk, or correct the path", .0.display())]
    NoPlaceForCeiling(PathBuf),
    /// A message over the socket is no question.
    #[error("the process that holds the keys was told something that it does not understand: {0}")]
    Nonsense(#[from] prost::DecodeError),
    /// The system does not let it work.
    #[error("the process that holds the keys: {0}")]
    System(#[from] io::Error),
}

/// A key that is held, and what it is held with.
struct HeldKey {
    judge: TransactionJudge,
    _pinned: Option<PinnedKey>,
}

/// A question that was read.
struct ReadAsk<'a> {
    id: u64,
    key: &'a HeldKey,
    asks: KeyQuestion,
}

/// Every key that was to be opened, in the order of the [`Manifest`].
type HeldKeys = Vec<Option<HeldKey>>;

/// Reads the configuration at `config`, and begins anew as [`hold_begun`] with the part that signing needs.
pub fn hold(config: Option<&Path>) -> Result<(), HoldError> {
    harden_process()?;
    handed_over()?;
    Err(begin_anew(SigningText::load(config)?).into())
}

/// Holds keys until the process that started this one has ended, or wants no more. The file that is the standard
/// output has the part of the configuration that signing needs.
pub fn hold_begun() -> Result<(), HoldError> {
    harden_process()?;
    let socket = handed_over()?;
    let config = SigningConfig::read(&io::read_to_string(File::from(
        io::stdout().as_fd().try_clone_to_owned()?,
    ))?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (manifest, held) = runtime.block_on(open(&config))?;
    drop(runtime);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    serve(socket, manifest, held, threads)
}

/// Executes this program once more, with nothing in its memory but what it is given: why it could not.
#[cfg(target_os = "linux")]
fn begin_anew(SigningText { text, environment }: SigningText) -> io::Error {
    use rustix::fs::{MemfdFlags, memfd_create};
    let given = memfd_create("configuration", MemfdFlags::CLOEXEC).map_err(io::Error::from);
    let given = given.map(File::from).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    let file = match given {
        Ok(file) => file,
        Err(why) => return why,
    };
    let mut command = Command::new("/proc/self/exe");
    command.args(["hold-keys", "--begun"]).env_clear().envs(certificates()).envs(environment);
    command.stdout(file).exec()
}

/// Tells that there is nothing of the kind here.
#[cfg(not(target_os = "linux"))]
fn begin_anew(_: SigningText) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

/// The socket that the process was started with: made by who started it, or a connection by whose socket it is.
fn handed_over() -> Result<UnixStream, HoldError> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let kind = (socket_domain(&socket).ok(), socket_type(&socket).ok());
    if kind != (Some(AddressFamily::UNIX), Some(SocketType::STREAM)) {
        return Err(HoldError::NotOurs);
    }
    let made_by = socket_peercred(&socket).map_err(io::Error::from)?;
    let socket = UnixStream::from(socket);
    if let Some(path) = socket.local_addr()?.as_pathname() {
        let (asks, owner) = (made_by.uid.as_raw(), std::fs::metadata(path)?.uid());
        return if asks == owner { Ok(socket) } else { Err(HoldError::Stranger { asks, owner }) };
    }
    // With the process, or the thread of it, that started this one.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    if getppid() == Some(made_by.pid) { Ok(socket) } else { Err(HoldError::NotOurs) }
}

/// Opens every key that can be held here, one after the other: one that is encrypted takes 256 MiB meanwhile.
async fn open(config: &SigningConfig) -> Result<(Manifest, HeldKeys), HoldError> {
    // They mean the Signer, which ends this process when it has done what it had to.
    for stays in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        drop(signal(stays)?);
    }
    let config_digest = config.digest.to_vec();
    let mut manifest = Manifest { config: config_digest, ..Manifest::default() };
    let mut held = HeldKeys::new();
    let ceiling = Arc::new(ceiling(config, &mut manifest.lacks)?);
    for chain in &config.chains {
        let family = &chain.family;
        // The other process finds a fault of the profile as well, and reports it.
        let Ok(profile) = Profile::parse(family.billing(), family.family()) else { continue };
        let profile = Arc::new(profile);
        for (place, key) in chain.keys.all().filter(|(_, key)| !key.is_remote()) {
            let named = NamedKey::new(chain, &config.keys, &place, key);
            let path = named.path.clone();
            let (outcome, key) = match open_one(named).await {
                Ok(key) => {
                    let pinned = key.pin();
                    manifest.lacks.extend(pinned.as_ref().err().map(|why| unpinned(&path, why)));
                    let judge = TransactionJudge::new(
                        chain,
                        Arc::clone(&profile),
                        key,
                        Arc::clone(&ceiling),
                    );
                    let address = OpenedAs::Address(judge.address().to_vec());
                    (address, Some(HeldKey { judge, _pinned: pinned.ok() }))
                }
                Err(why) => (OpenedAs::Fault(why.to_string()), None),
            };
            manifest.keys.push(Opened { path, outcome: Some(outcome) });
            held.push(key);
        }
    }
    Ok((manifest, held))
}

async fn open_one(named: NamedKey<'_>) -> Result<LocalKey, KeyError> {
    let stays = KeyError::NotOpened { said: format!("{}: stays in its store", named.path) };
    KeyStores.open(named).await?.into_local().ok_or(stays)
}

/// Opens the record of the amounts signed today, and adds to `lacks` if that record is new. No file is needed if no
/// day has a limit.
fn ceiling(config: &SigningConfig, lacks: &mut Vec<String>) -> Result<DayCeiling, HoldError> {
    let limited = |chain: &ChainConfig| chain.policy.limits_of_day();
    if !config.chains.iter().any(limited) {
        return Ok(DayCeiling::unlimited(Clock::MACHINE));
    }
    let path = config.keys.ceiling_file.clone();
    match DayCeiling::open(&path, Clock::MACHINE) {
        Ok((ceiling, new)) => {
            let path = path.display();
            lacks.extend(new.then(|| {
                format!(
                    "what was signed today counts from zero ({path} was not there): right on the first day, \
                     and otherwise somebody took the file away"
                )
            }));
            Ok(ceiling)
        }
        Err(CeilingFault::System(why)) if why.kind() == io::ErrorKind::NotFound => {
            Err(HoldError::NoPlaceForCeiling(path))
        }
        Err(why) => Err(HoldError::Ceiling { path, why }),
    }
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
        questions: Mutex::new(Some(BufReader::new(socket.try_clone()?))),
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
    let mut ended = window.answer_all();
    for other in others {
        let other = other.join().map_err(|_| io::Error::other("one of its threads has ended"))?;
        ended = ended.and(other);
    }
    ended
}

/// The end of the socket at which questions come in and answers go out.
struct Window {
    /// None once there is nothing more to read, for any thread.
    questions: Mutex<Option<BufReader<UnixStream>>>,
    answers: Mutex<UnixStream>,
    held: HeldKeys,
}

impl Window {
    /// Answers until there are no more questions. On an error no thread reads another one.
    fn answer_all(&self) -> Result<(), HoldError> {
        while let Some(ReadAsk { id, key, asks }) = self.next()? {
            let Some(signed) = key.judge.answer(&asks) else { continue };
            let answer = frame(&KeyAnswer { id, reply: Some(reply(signed)) })?;
            if let Err(why) = self.answers.lock().write_all(&answer) {
                *self.questions.lock() = None;
                return Err(why.into());
            }
        }
        Ok(())
    }

    /// The next question and the key that it is for; none where there will be no more.
    fn next(&self) -> Result<Option<ReadAsk<'_>>, HoldError> {
        let mut questions = self.questions.lock();
        let Some(from) = questions.as_mut() else { return Ok(None) };
        let read = self.question(from);
        if !matches!(read, Ok(Some(_))) {
            *questions = None;
        }
        read
    }

    fn question(&self, from: &mut impl io::Read) -> Result<Option<ReadAsk<'_>>, HoldError> {
        let Some(read) = read_frame(from)? else { return Ok(None) };
        let Ask { id, key, question } = Ask::decode(read.as_slice())?;
        let place = usize::try_from(key).unwrap_or(usize::MAX);
        let held = self.held.get(place).and_then(Option::as_ref);
        let odd = || io::Error::other("a question without a key, or a key that is not held");
        Ok(Some(ReadAsk { id, key: held.ok_or_else(odd)?, asks: question.ok_or_else(odd)? }))
    }
}

fn reply(signed: Result<Signature, NotSigned>) -> KeyReply {
    match signed {
        Ok(signature) => KeyReply::Signature(signature.as_bytes().to_vec()),
        Err(NotSigned::Refused(refusal)) => KeyReply::Refused(refusal.into()),
        Err(NotSigned::Failed(_)) => KeyReply::Failed(true),
    }
}
