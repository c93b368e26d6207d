//! A key in another process, and the connection to that process.
//!
//! This process never has the key. It shows whole transactions to the other process, which reads them again by its own
//! copy of the policy, and takes a signature or a refusal back. Many may be asked for at once. When the other process
//! has ended, or does not answer, nothing is signed any more, and [`Deaths`](crate::Deaths) tells of it.

use super::error::{NotSigned, ProcessFault, SignError};
use super::protocol::{Ask, KeyAnswer, KeyQuestion, KeyReply, Profiles, frame, next_message};
use super::recovery::is_by;
use alloy::primitives::{Address, B256, Signature};
use parking_lot::Mutex;
use policy::Intent;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// Time limit for one signature. A signature takes less than a millisecond: one that takes this long hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// Number of questions that may wait to be written.
const QUEUE: usize = 256;

/// A key in another process.
pub(super) struct ProcessKey {
    place: u32,
    address: Address,
    link: Arc<ProcessLink>,
}

impl ProcessKey {
    /// The key at a place of the [`Manifest`](super::protocol::Manifest) of the process behind `link`.
    pub(super) fn new(place: u32, address: Address, link: Arc<ProcessLink>) -> Self {
        Self { place, address, link }
    }

    /// The address that the key signs for.
    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// Has the process sign `bytes`, whose hash is `digest`, if they do what was meant.
    pub(super) async fn sign(
        &self,
        bytes: &[u8],
        digest: B256,
        intent: &Intent<'_>,
    ) -> Result<Signature, NotSigned> {
        let address = self.address;
        let fault = |why| SignError::Process { address, why };
        let question = KeyQuestion::of(bytes, intent).ok_or(fault(ProcessFault::NothingBefore))?;
        let signature = match self.link.ask(self.place, question).await.map_err(fault)? {
            KeyReply::Signature(signature) => signature,
            KeyReply::Refused(refusal) => return Err(NotSigned::Refused(refusal.into())),
            KeyReply::Failed(_) => return Err(fault(ProcessFault::Failed).into()),
        };
        let signature = Signature::from_raw(&signature).ok();
        let signature = signature.filter(|signature| is_by(address, signature, digest));
        Ok(signature.ok_or(SignError::WrongSigner { address })?)
    }

    /// Tells it by which profiles older batches were signed.
    pub(super) fn remember(&self, texts: Vec<String>) {
        let question = Some(KeyQuestion::Remember(Profiles { texts }));
        let told = framed(&Ask { id: 0, key: self.place, question })
            .is_ok_and(|framed| self.link.frames.try_send(framed).is_ok());
        if !told {
            warn!("the process that holds the keys was not told of older contract profiles");
        }
    }
}

/// The waiters for answers, by the number of the question.
type AwaitedReplies = Mutex<HashMap<u64, oneshot::Sender<KeyReply>>>;

/// The connection to a process that holds keys. The process ends when the connection is dropped.
pub(super) struct ProcessLink {
    frames: mpsc::Sender<Vec<u8>>,
    waiting: Arc<AwaitedReplies>,
    next: AtomicU64,
    process: Arc<KeyProcess>,
}

impl Drop for ProcessLink {
    fn drop(&mut self) {
        self.process.wanted.store(false, Ordering::SeqCst);
    }
}

impl ProcessLink {
    /// Over this socket, to this process.
    pub(super) fn over(socket: UnixStream, process: Arc<KeyProcess>) -> Self {
        let (from, to) = socket.into_split();
        let (frames, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::<AwaitedReplies>::default();
        let tasks = TaskTracker::new();
        tasks.spawn(write(to, queue));
        tasks.spawn(hear(from, Arc::clone(&waiting), Arc::clone(&process)));
        Self { frames, waiting, next: AtomicU64::new(1), process }
    }

    async fn ask(&self, key: u32, question: KeyQuestion) -> Result<KeyReply, ProcessFault> {
        let (told, heard) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(id, told);
        let framed = framed(&Ask { id, key, question: Some(question) })?;
        self.frames.send(framed).await.map_err(|_| ProcessFault::Gone)?;
        // A question that waits when the process ends is told so; a later question is not.
        if self.process.gone.is_cancelled() {
            return Err(ProcessFault::Gone);
        }
        if let Ok(said) = timeout(DEADLINE, heard).await {
            return said.map_err(|_| ProcessFault::Gone);
        }
        error!("the process that holds the keys does not answer: it is ended");
        self.process.end();
        Err(ProcessFault::Silent)
    }
}

fn framed(ask: &Ask) -> Result<Vec<u8>, ProcessFault> {
    frame(ask).map_err(|_| ProcessFault::TooLong)
}

/// A process that holds keys.
pub(super) struct KeyProcess {
    /// None if it is a service of its own: it ends with the connection.
    id: Option<Pid>,
    /// True if its keys are wanted: then its end is reported.
    wanted: AtomicBool,
    /// Cancelled when the process has ended.
    gone: CancellationToken,
    /// Cancelled when nothing more is to be heard from the process.
    closed: CancellationToken,
    deaths: mpsc::Sender<String>,
}

impl KeyProcess {
    /// The process with this id, or a service; its end is told to `deaths`.
    pub(super) fn new(id: Option<Pid>, deaths: mpsc::Sender<String>) -> Self {
        let (gone, closed) = (CancellationToken::new(), CancellationToken::new());
        Self { id, wanted: AtomicBool::new(false), gone, closed, deaths }
    }

    /// The id of a process that was started here.
    pub(super) fn id(&self) -> Option<Pid> {
        self.id
    }

    /// Ends the process, if it has not ended.
    pub(super) fn end(&self) {
        self.closed.cancel();
        if let Some(id) = self.id.filter(|_| !self.gone.is_cancelled()) {
            kill_process(id, Signal::KILL).ok();
        }
    }

    /// Has the end of the process reported from now on. Returns false if it has ended before.
    pub(super) fn want(&self) -> bool {
        self.wanted.store(true, Ordering::SeqCst);
        !self.gone.is_cancelled()
    }

    /// Notes that the connection to it has ended. A process that was started here is waited for, which tells more.
    fn hung_up(&self) {
        self.gone.cancel();
        if self.id.is_none() {
            self.report("its service says why");
        }
    }

    /// Notes that a process that was started here has ended.
    pub(super) fn exited(&self, how: &str) {
        self.gone.cancel();
        self.report(how);
    }

    fn report(&self, how: &str) {
        if self.wanted.load(Ordering::SeqCst) {
            // One is enough to end the Signer.
            self.deaths.try_send(format!("the process that held the keys has ended ({how})")).ok();
        }
    }
}

/// Writes whole frames: whoever asks may be gone before his is written.
async fn write(mut to: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(framed) = queue.recv().await {
        if to.write_all(&framed).await.is_err() {
            break;
        }
    }
}

/// Takes answers to those who wait for them, until there will be no more.
async fn hear(from: OwnedReadHalf, waiting: Arc<AwaitedReplies>, process: Arc<KeyProcess>) {
    let mut from = BufReader::new(from);
    let closed = process.closed.clone();
    while let Some(Ok(KeyAnswer { id, reply: Some(reply) })) =
        closed.run_until_cancelled(next_message(&mut from)).await
    {
        if let Some(told) = waiting.lock().remove(&id) {
            told.send(reply).ok();
        }
    }
    process.end();
    process.hung_up();
    waiting.lock().clear();
}

impl fmt::Debug for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessKey").field("address", &self.address).finish_non_exhaustive()
    }
}
