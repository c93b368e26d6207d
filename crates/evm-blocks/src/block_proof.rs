//! The proof of one block: the answers of a node about the block with a hash, recomputed from their own bytes.

use ::node::{AskError, Fault, NoReply, decode};
use alloy::primitives::B256;
use evm_node as node;
use evm_node::EvmAsker;
use evm_proofs::answer::{BlockAnswer, ReceiptAnswer};
use evm_proofs::block::{ProvenBlock, ProvenBody};
use evm_proofs::header::HeaderShape;
use evm_proofs::transactions::ProvenTransaction;
use evm_proofs::unproven::{Contradiction, Obstacle, Unproven};
use evm_testimony::errors::passing;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The longest answer about a block that is judged, bytes: a full block of the busiest chains is half as long.
const LONGEST: usize = 8 << 20;

/// The most receipts that are asked for one by one, of a node that tells none of whole blocks.
const ONE_BY_ONE: usize = 32;

/// The most of them that are asked for at once.
const AT_ONCE: usize = 8;

/// The reason why a node's answers prove nothing of a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProof {
    /// They contradict themselves: the node lies.
    #[error("it contradicts itself: {0}")]
    False(Contradiction),
    /// They have a form that cannot be judged, or the node has no such call. The next ones are no better.
    #[error("{0}")]
    Unjudged(String),
    /// The node did not tell, and may yet.
    #[error("{0}")]
    Untold(String),
}

/// The way in which a node tells the receipts of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiptsBy {
    /// All of them in one answer.
    Block,
    /// Each by itself: the node has no call for all of them.
    Transaction,
}

/// The questions to one node by which it proves the block with a hash.
#[derive(Debug)]
pub struct BlockProof<'a> {
    /// The way to the node.
    pub rpc: EvmAsker<'a>,
    /// The block's hash.
    pub hash: B256,
    /// The shape of the headers that the node proved before.
    pub shape: Option<HeaderShape>,
    /// The way in which receipts are asked for; afterwards, the one that the node has.
    pub receipts_by: ReceiptsBy,
}

impl BlockProof<'_> {
    /// Asks for the block and for its receipts, and proves them. Of a block that cannot be judged no receipts are asked
    /// for.
    pub async fn find(&mut self) -> Result<ProvenBlock, NoProof> {
        let block: BlockAnswer = told(node::block_told(self.rpc, self.hash).await)?;
        let body = match block.prove_body(self.shape) {
            Err(Unproven::False(Contradiction::Transactions)) if block.transactions_told() == 0 => {
                return Err(untold("the node tells no transactions of the block"));
            }
            judged => judged?,
        };
        if body.header().hash() != self.hash {
            return Err(untold("the node tells another block than the one that was asked for"));
        }
        let receipts = self.receipts(&body).await?;
        if receipts.is_empty() && !body.transactions().is_empty() {
            return Err(untold("the node tells no receipts of the block"));
        }
        Ok(body.with_receipts(&receipts)?)
    }

    async fn receipts(&mut self, body: &ProvenBody) -> Result<Vec<ReceiptAnswer>, NoProof> {
        if self.receipts_by == ReceiptsBy::Block {
            match told(node::receipts_told(self.rpc, self.hash).await) {
                Err(NoProof::Unjudged(_)) => self.receipts_by = ReceiptsBy::Transaction,
                answered => return answered,
            }
        }
        let many = body.transactions().len();
        if many > ONE_BY_ONE {
            let why = "the node does not tell all receipts of a block at once, of which there are";
            return Err(NoProof::Unjudged(format!("{why} {many}")));
        }
        let rpc = self.rpc;
        let hashes: Vec<B256> = body.transactions().iter().map(ProvenTransaction::hash).collect();
        let asked = hashes.into_iter().map(async |hash| told(node::receipt_told(rpc, hash).await));
        stream::iter(asked).buffered(AT_ONCE).try_collect().await
    }
}

fn untold(why: &str) -> NoProof {
    NoProof::Untold(why.to_owned())
}

/// Reads an answer that is not null. Its form is read here, and not where it is asked for: a node that tells something
/// in a form of its own is not in trouble.
fn told<T: DeserializeOwned>(answer: Result<Box<RawValue>, AskError>) -> Result<T, NoProof> {
    let answer = answer?;
    let text = answer.get().as_bytes();
    if text.len() > LONGEST {
        return Err(NoProof::Unjudged(format!("an answer of {} bytes is too long", text.len())));
    }
    let read: Option<T> =
        decode(text).map_err(|_| NoProof::Unjudged("an answer has an unknown form".to_owned()))?;
    read.ok_or_else(|| untold("the node does not have the block"))
}

impl From<AskError> for NoProof {
    fn from(error: AskError) -> Self {
        let told = error.to_string();
        match error.fault {
            Fault::Node(error) if !passing(&error) => Self::Unjudged(told),
            // Some gateways have no other words for a call that they do not pass on.
            Fault::Lost(NoReply::TooLong) | Fault::Http(400 | 401 | 403 | 404 | 405 | 501) => {
                Self::Unjudged(told)
            }
            Fault::Node(_)
            | Fault::Lost(
                NoReply::Refused | NoReply::NoConnection | NoReply::TimedOut | NoReply::Broken,
            )
            | Fault::Http(_)
            | Fault::ShutOut { .. }
            | Fault::Garbled
            | Fault::WrongChain { .. }
            | Fault::NoNode => Self::Untold(told),
        }
    }
}

impl From<Unproven> for NoProof {
    fn from(unproven: Unproven) -> Self {
        match unproven {
            Unproven::False(contradiction) => Self::False(contradiction),
            // The next header of the node may prove itself, and tell the shape.
            Unproven::Unjudged(obstacle @ Obstacle::Shape) => {
                Self::Untold(format!("of a block, {obstacle}"))
            }
            Unproven::Unjudged(obstacle) => Self::Unjudged(format!("of a block, {obstacle}")),
        }
    }
}
