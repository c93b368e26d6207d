//! Keys in a process of their own, as the process that talks to the world sees them.
//!
//! It never has them. It shows whole transactions to the other process, which reads them again by its own copy
//! of the policy, and takes a signature or a refusal back. Many may be asked for at once. When the other process
//! has ended, or does not answer, nothing is signed any more, and whoever started it is told: see [`Deaths`].

mod process;
mod wire;

use process::Holder;
pub use process::{Deaths, SplitKeys};
pub use wire::{
    Ask, KeyAnswer, KeyQuestion, KeyReply, Manifest, Opened, OpenedAs, Profiles, SignAgain,
    SignBill, WireRefusal, frame, read_frame,
};

use super::SignError;
use alloy::primitives::{Address, B256, Signature};
use parking_lot::Mutex;
use policy::{Meant, Refusal};
use prost::Message;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

/// Time limit for one signature. A signature takes less than a millisecond: one that takes this long hangs.
const DEADLINE: Duration = Duration::from_secs(5);

/// Number of questions that may wait to be written.
const QUEUE: usize = 256;

/// Why the other process gave no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApartFault {
    /// It has ended.
    #[error("the process that holds the key has ended; the Signer ends too, to be started again")]
    Gone,
    /// It does not answer.
    #[error("the process that holds the key does not answer; the Signer ends, to be started again")]
    Silent,
    /// It tried, and the key gave no signature.
    #[error("the key gave none; do not use this machine for signing")]
    Failed,
    /// The batch is too large to be shown to it.
    #[error(
        "the batch is too large to be shown to the process that holds the key: post smaller ones"
    )]
    TooLong,
    /// There is nothing that would show it that the batch was approved once.
    #[error("no attempt of the batch was signed before")]
    NothingBefore,
}

/// Why there is no signature. None has left the keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The process that holds the key refuses it by its own copy of the policy.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is none.
    #[error(transparent)]
    Failed(#[from] SignError),
}

/// A key in another process.
pub(super) struct ApartKey {
    place: u32,
    address: Address,
    asked: Arc<HolderLink>,
}

impl ApartKey {
    /// Has it sign `bytes`, whose hash is `digest`, if they do what was meant.
    pub(super) async fn sign(
        &self,
        bytes: &[u8],
        digest: B256,
        meant: &Meant<'_>,
    ) -> Result<Signature, NotSigned> {
        let address = self.address;
        let fault = |why| SignError::Apart { address, why };
        let question = KeyQuestion::of(bytes, meant).ok_or(fault(ApartFault::NothingBefore))?;
        let signature = match self.asked.ask(self.place, question).await.map_err(fault)? {
            KeyReply::Signature(signature) => signature,
            KeyReply::Refused(refusal) => return Err(NotSigned::Refused(refusal.into())),
            KeyReply::Failed(_) => return Err(fault(ApartFault::Failed).into()),
        };
        let signature = Signature::from_raw(&signature).ok();
        let ours = |one: &Signature| {
            one.recover_address_from_prehash(&digest).is_ok_and(|who| who == address)
        };
        Ok(signature.filter(ours).ok_or(SignError::WrongSigner { address })?)
    }

    /// Tells it by which profiles older batches were signed.
    pub(super) fn remember(&self, texts: Vec<String>) {
        let question = Some(KeyQuestion::Remember(Profiles { texts }));
        let told = framed(&Ask { id: 0, key: self.place, question })
            .is_ok_and(|framed| self.asked.frames.try_send(framed).is_ok());
        if !told {
            warn!("the process that holds the keys was not told of older contract profiles");
        }
    }
}

/// The waiters for answers, by the number of the question.
type AwaitedReplies = Mutex<HashMap<u64, oneshot::Sender<KeyReply>>>;

/// The way to a process that holds keys. When it is dropped, that process ends.
struct HolderLink {
    frames: mpsc::Sender<Vec<u8>>,
    waiting: Arc<AwaitedReplies>,
    next: AtomicU64,
    holder: Arc<Holder>,
}

impl Drop for HolderLink {
    fn drop(&mut self) {
        self.holder.wanted.store(false, Ordering::SeqCst);
    }
}

impl HolderLink {
    /// Over this socket, to this process.
    fn over(socket: UnixStream, holder: Arc<Holder>) -> Self {
        let (from, to) = socket.into_split();
        let (frames, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::<AwaitedReplies>::default();
        let tasks = TaskTracker::new();
        tasks.spawn(write(to, queue));
        tasks.spawn(hear(from, Arc::clone(&waiting), Arc::clone(&holder)));
        Self { frames, waiting, next: AtomicU64::new(1), holder }
    }

    async fn ask(&self, key: u32, question: KeyQuestion) -> Result<KeyReply, ApartFault> {
        let (told, heard) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(id, told);
        let framed = framed(&Ask { id, key, question: Some(question) })?;
        self.frames.send(framed).await.map_err(|_| ApartFault::Gone)?;
        // A question that waits when the process ends is told so; a later question is not.
        if self.holder.gone.is_cancelled() {
            return Err(ApartFault::Gone);
        }
        if let Ok(said) = timeout(DEADLINE, heard).await {
            return said.map_err(|_| ApartFault::Gone);
        }
        error!("the process that holds the keys does not answer: it is ended");
        self.holder.end();
        Err(ApartFault::Silent)
    }
}

fn framed(ask: &Ask) -> Result<Vec<u8>, ApartFault> {
    frame(ask).map_err(|_| ApartFault::TooLong)
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
async fn hear(from: OwnedReadHalf, waiting: Arc<AwaitedReplies>, holder: Arc<Holder>) {
    let mut from = BufReader::new(from);
    let closed = holder.closed.clone();
    while let Some(Ok(KeyAnswer { id, said: Some(said) })) =
        closed.run_until_cancelled(next_message(&mut from)).await
    {
        if let Some(told) = waiting.lock().remove(&id) {
            told.send(said).ok();
        }
    }
    holder.end();
    holder.hung_up();
    waiting.lock().clear();
}

/// The next message, which is never longer than one may be.
async fn next_message<M: Message + Default>(
    from: &mut BufReader<impl AsyncRead + Unpin>,
) -> io::Result<M> {
    let mut head = [0; 4];
    from.read_exact(&mut head).await?;
    let mut message = vec![0; wire::length(head)?];
    from.read_exact(&mut message).await?;
    M::decode(message.as_slice()).map_err(io::Error::other)
}

impl fmt::Debug for ApartKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApartKey").field("address", &self.address).finish_non_exhaustive()
    }
}
