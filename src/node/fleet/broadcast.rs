//! Offering bytes to every node at once. What has begun is not cut short by whoever stops waiting.

use super::node::Node;
use super::{Fleet, NodeId};
use crate::node::rpc::RpcError;
use alloy::primitives::B256;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How long an acceptance is waited for.
const SOFT_DEADLINE: Duration = Duration::from_secs(3);

/// What a node said to the bytes: the hash that it names, or why it named none.
pub type Said = Result<B256, RpcError>;

impl Fleet {
    /// Offers `raw` to all nodes at once, those that only send included. Ends at the first answer
    /// that `accepts` takes for an acceptance, when all have answered, or after three seconds; the
    /// rest goes on in the background. `accepts` hears every answer, late ones too.
    pub async fn broadcast<F>(self: &Arc<Self>, raw: &[u8], accepts: F) -> Vec<(NodeId, Said)>
    where
        F: Fn(NodeId, &Said) -> bool + Send + Sync + 'static,
    {
        let deadline = Instant::now().checked_add(SOFT_DEADLINE).unwrap_or_else(Instant::now);
        let params = Arc::new(json!([alloy::hex::encode_prefixed(raw)]));
        let accepts = Arc::new(accepts);
        let (answers, mut heard) = mpsc::channel(self.nodes.len().max(1));
        for node in &self.nodes {
            let (node, params, accepts) =
                (Arc::clone(node), Arc::clone(&params), Arc::clone(&accepts));
            let answers = answers.clone();
            self.tasks.spawn(async move {
                let said = send(&node, &params).await;
                let accepted = accepts(node.id, &said);
                // Nobody listens any more when the answer is late.
                answers.try_send((node.id, said, accepted)).ok();
            });
        }
        drop(answers);
        let mut all = Vec::with_capacity(self.nodes.len());
        while let Ok(Some((id, said, accepted))) = timeout_at(deadline, heard.recv()).await {
            all.push((id, said));
            if accepted {
                break;
            }
        }
        all
    }
}

/// A node whose chain is not certain, or not certain any more, is asked for it first.
async fn send(node: &Node, params: &Value) -> Said {
    node.verify_when_due().await?;
    node.ask("eth_sendRawTransaction", params).await
}
