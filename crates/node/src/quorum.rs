//! The number of providers that have to say the same before an answer counts, and the questions until they do.

use super::client::Client;
use super::error::AskError;
use super::fleet::Fleet;
use super::group::{NodeGroup as _, Trust};
use super::rules::NodeId;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Extra time that a node may take for a look, compared with the others.
const GRACE: Duration = Duration::from_secs(1);

/// Not enough nodes said the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{about}: {needed} providers must say the same, and of {asked} that were asked no {needed} did"
)]
pub struct NoAgreement {
    /// Subject of the question.
    pub about: &'static str,
    /// Number of providers that had to agree.
    pub needed: usize,
    /// Number of providers that were asked.
    pub asked: usize,
}

impl<C: Client> Fleet<C> {
    /// Returns the number of providers that have to say the same before an answer counts: two if two are
    /// configured, whichever of them can be reached.
    pub fn needed(&self) -> usize {
        match self.trust() {
            Trust::Alone | Trust::Witnessed => 1,
            Trust::Two => 2,
        }
    }

    /// Returns true if no second provider can contradict the first.
    pub fn is_alone(&self) -> bool {
        self.trust() == Trust::Alone
    }

    /// Returns true if as many nodes are fit as have to agree. Fewer can let a charge pass, and conclude nothing.
    pub fn is_quorate(&self) -> bool {
        self.fit().len() >= self.needed()
    }

    /// Asks every node that counts at once, for conclusions. The answers are in the order of the
    /// fitness.
    pub async fn each<R>(&self, question: C::Question) -> Vec<(NodeId, Result<R, AskError>)>
    where
        R: DeserializeOwned + Send,
    {
        let asked = self.fit().into_iter().map(async |id| {
            let answer = self.only(id).put(question.clone()).await;
            (id, answer)
        });
        join_all(asked).await
    }

    /// Returns the answer on which enough providers agree, as soon as they do. A provider that has given another
    /// answer by then disagreed `about` the question.
    pub async fn agreed<T, F>(
        &self,
        about: &'static str,
        asked: impl Fn(NodeId) -> F,
    ) -> Result<T, NoAgreement>
    where
        T: PartialEq,
        F: Future<Output = Option<T>>,
    {
        let fit = self.fit();
        let (needed, count) = (self.needed(), fit.len());
        let named = |id: NodeId| {
            let asked = asked(id);
            async move { (id, asked.await) }
        };
        let mut running: FuturesUnordered<_> = fit.into_iter().map(named).collect();
        let mut answers: Vec<(NodeId, T)> = Vec::new();
        while let Some((id, answer)) = running.next().await {
            let Some(answer) = answer else { continue };
            let (alike, others): (Vec<_>, Vec<_>) =
                answers.iter().partition(|(_, other)| *other == answer);
            if alike.len().saturating_add(1) >= needed {
                for (other, _) in others {
                    self.dissented(*other, about);
                }
                return Ok(answer);
            }
            answers.push((id, answer));
        }
        if answers.len() > 1 {
            for (id, _) in &answers {
                self.dissented(*id, about);
            }
        }
        Err(NoAgreement { about, needed, asked: count })
    }

    /// Looks at every node that may be looked at. Once as many have answered as have to agree, the
    /// others get a little longer; one that is slower than that is as good as one that does not
    /// answer. One that answered nothing by the end of its own look is silent.
    pub async fn survey<L, E, F>(&self, look: impl Fn(NodeId) -> F) -> Vec<(NodeId, Result<L, E>)>
    where
        F: Future<Output = Result<L, E>>,
    {
        let mut waiting = self.watched();
        let answers = |id: &NodeId| self.node(*id).map_or(0, |node| node.answers());
        let before: Vec<(NodeId, u64)> = waiting.iter().map(|id| (*id, answers(id))).collect();
        let named = |id: NodeId| {
            let look = look(id);
            async move { (id, look.await) }
        };
        let mut running: FuturesUnordered<_> = waiting.iter().map(|id| named(*id)).collect();
        let mut told = Vec::new();
        let grace = sleep(Duration::MAX);
        tokio::pin!(grace);
        loop {
            let answer = tokio::select! {
                biased;
                answer = running.next() => answer,
                () = &mut grace => None,
            };
            let Some((id, look)) = answer else { break };
            told.push((id, look));
            let good = told.iter().filter(|(_, look)| look.is_ok()).count();
            if good == self.needed() {
                let until = Instant::now().checked_add(GRACE).unwrap_or_else(Instant::now);
                grace.as_mut().reset(until);
            }
        }
        drop(running);
        waiting.retain(|id| told.iter().all(|(heard, _)| heard != id));
        for (id, answered) in before {
            if waiting.contains(&id) {
                self.kept_waiting(id);
            } else if answers(&id) == answered {
                self.was_silent(id);
            }
        }
        told
    }
}
