//! The questions put to one node, or to whichever is best.

use super::endpoints::{Endpoints, Question, Side};
use node::{AskError, Asker, Fault, Fleet, NodeId};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The questions to TRON's nodes, put to one node or to whichever is best.
#[derive(Clone, Copy, Debug)]
pub struct Api<'a>(pub(crate) Asker<'a, Endpoints>);

impl<'a> Api<'a> {
    /// Asks the best node, with a second one in reserve.
    pub fn best(fleet: &'a Fleet<Endpoints>) -> Self {
        Self(fleet.best())
    }

    /// Asks this node and no other.
    pub fn of(fleet: &'a Fleet<Endpoints>, id: NodeId) -> Self {
        Self(fleet.only(id))
    }

    /// Asks a question; none where the node answers that there is nothing.
    pub(crate) async fn ask<R: DeserializeOwned + Send>(
        self,
        side: Side,
        name: &'static str,
        params: Value,
    ) -> Result<Option<R>, AskError> {
        self.0.put(Question::Http { side, name, params, runs: false }).await
    }

    /// The same where nothing makes no sense.
    pub(crate) async fn demand<R: DeserializeOwned + Send>(
        self,
        side: Side,
        name: &'static str,
        params: Value,
    ) -> Result<R, AskError> {
        self.0.put(Question::Http { side, name, params, runs: false }).await
    }

    /// A text of a node without our secrets.
    pub(crate) fn clean(self, text: &str) -> String {
        self.0.fleet().clean(text)
    }
}

/// The error for an answer that makes no sense.
pub(crate) fn garbled(question: &'static str) -> AskError {
    AskError { question, fault: Fault::Garbled }
}
