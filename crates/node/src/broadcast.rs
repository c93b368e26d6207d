//! The offer of bytes to every node at once. An offer that has begun is not cut short when its caller stops
//! waiting.

use super::client::Client;
use super::error::AskError;
use super::fleet::Fleet;
use super::rules::NodeId;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Time to wait for an acceptance.
const SOFT_DEADLINE: Duration = Duration::from_secs(3);

impl<C: Client> Fleet<C> {
    /// Asks `offer` of all nodes at once, those that only send included. Ends at the first answer
    /// that `accepts` takes for an acceptance, when all have answered, or after three seconds; the
    /// rest goes on in the background. `accepts` hears every answer, late ones too. A node whose
    /// chain is not certain, or not certain any more, is asked for it first.
    pub async fn broadcast<R, F>(
        self: &Arc<Self>,
        offer: C::Question,
        accepts: F,
    ) -> Vec<(NodeId, Result<R, AskError>)>
    where
        R: DeserializeOwned + Send + 'static,
        F: Fn(NodeId, &Result<R, AskError>) -> bool + Send + Sync + 'static,
    {
        let deadline = Instant::now().checked_add(SOFT_DEADLINE).unwrap_or_else(Instant::now);
        let (offer, accepts) = (Arc::new(offer), Arc::new(accepts));
        let (answers, mut heard) = mpsc::channel(self.nodes().len().max(1));
        for node in self.nodes() {
            let (node, offer, accepts) =
                (Arc::clone(node), Arc::clone(&offer), Arc::clone(&accepts));
            let answers = answers.clone();
            self.background().spawn(async move {
                let said = match node.verify_when_due().await {
                    Ok(()) => node.ask::<R>(&offer).await,
                    Err(error) => Err(error),
                };
                let accepted = accepts(node.id, &said);
                // Nobody listens any more when the answer is late.
                answers.try_send((node.id, said, accepted)).ok();
            });
        }
        drop(answers);
        let mut all = Vec::with_capacity(self.nodes().len());
        while let Ok(Some((id, said, accepted))) = timeout_at(deadline, heard.recv()).await {
            all.push((id, said));
            if accepted {
                break;
            }
        }
        all
    }
}
