//! A verdict that would stop revenue needs a second node. One that lets a charge pass does not: the
//! contract still decides.
//!
//! The first look may have been at a head that is some seconds old, so the second opinion begins with
//! a new look at the heads, and asks two nodes about the same block.

use super::EvmChain;
use super::node::View;
use crate::billing::{Admitted, Charge, FailCode, SubscribeId, judge};
use crate::chain::{ChainError, Preflight};
use crate::contract::Looked;
use crate::node::fleet::NodeId;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;
use tokio::time::sleep;

/// How long two nodes are waited for before a third is asked as well.
const PATIENCE: Duration = Duration::from_millis(300);

/// What of a verdict two nodes have to agree about. Words differ between clients, and so does what
/// they say that a call uses.
#[derive(Clone, Debug, PartialEq)]
enum Gist<T> {
    Said(T),
    Failed(Discriminant<ChainError>),
}

impl<T> Gist<T> {
    fn of<V>(verdict: &Result<V, ChainError>, gist: impl Fn(&V) -> T) -> Self {
        match verdict {
            Ok(verdict) => Self::Said(gist(verdict)),
            Err(error) => Self::Failed(discriminant(error)),
        }
    }
}

impl EvmChain {
    /// The preflight of `charges`, any refusal in it confirmed.
    pub(super) async fn check(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let first = self.check_at(self.view().await?, &charges).await;
        let stops =
            first.as_ref().map_or_else(is_verdict, |preflight| !refused(preflight).is_empty());
        if !stops || self.parts.fleet.fit().len() < 2 {
            return first;
        }
        let mut runs = Vec::new();
        for (id, view) in self.fresh_views().await? {
            runs.push((id, self.check_at(view, &charges)));
        }
        self.two_alike(runs, refused).await
    }

    /// What the profile's lookup says of every entry. It may supply the period, and with that what
    /// is claimed, so two nodes have to say the same even where nothing is refused: both are asked at
    /// once. What would refuse an entry is looked at again at a newer block.
    pub(super) async fn looked_up(
        &self,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        if self.parts.fleet.fit().len() < 2 {
            return self.look_up_at(&self.view().await?, entries).await;
        }
        let head = self.current().await?;
        let first = self.look_up_alike(self.views_at(&head).await?, entries).await;
        let stops = first.as_ref().map_or_else(is_verdict, |looked| self.refuses(entries, looked));
        if !stops {
            return first;
        }
        self.look_up_alike(self.fresh_views().await?, entries).await
    }

    async fn look_up_alike(
        &self,
        views: Vec<(NodeId, View<'_>)>,
        entries: &[Admitted],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let mut runs = Vec::new();
        for (id, view) in views {
            runs.push((id, async move { self.look_up_at(&view, entries).await }));
        }
        self.two_alike(runs, Clone::clone).await
    }

    fn refuses(&self, entries: &[Admitted], looked: &[Option<Looked>]) -> bool {
        let profile = &self.parts.profile;
        let good = |(entry, looked): (&Admitted, &Option<Looked>)| {
            profile.complete(entry.clone(), looked.as_ref()).is_ok()
        };
        !entries.iter().zip(looked).all(good)
    }

    /// Runs at two nodes at once, and at further ones when those differ or keep us waiting, until two
    /// verdicts are alike. Those of other nodes that said something else are remembered.
    async fn two_alike<V, T: PartialEq>(
        &self,
        runs: Vec<(NodeId, impl Future<Output = Result<V, ChainError>>)>,
        gist: impl Fn(&V) -> T,
    ) -> Result<V, ChainError> {
        let mut waiting = runs.into_iter().map(named);
        let mut running: FuturesUnordered<_> = waiting.by_ref().take(2).collect();
        let (mut heard, mut verdicts) = (Vec::new(), Vec::new());
        let patience = sleep(PATIENCE);
        tokio::pin!(patience);
        let mut waited = false;
        loop {
            tokio::select! {
                biased;
                Some((id, verdict)) = running.next() => {
                    heard.push((id, Gist::of(&verdict, &gist)));
                    verdicts.push(verdict);
                }
                () = &mut patience, if !waited => {
                    waited = true;
                    running.extend(waiting.next());
                }
                else => return Err(unclear()),
            }
            if let Some(place) = alike(&heard) {
                self.tell_dissent(&heard, place);
                return verdicts.into_iter().nth(place).unwrap_or_else(|| Err(unclear()));
            }
            if running.is_empty() {
                running.push(waiting.next().ok_or_else(unclear)?);
            }
        }
    }

    fn tell_dissent<T: PartialEq>(&self, heard: &[(NodeId, Gist<T>)], agreed: usize) {
        let agreed = heard.get(agreed).map(|(_, gist)| gist);
        for (id, gist) in heard {
            if Some(gist) != agreed && !gist.is_silence() {
                self.parts.fleet.dissented(*id, "about what can be charged");
            }
        }
    }
}

async fn named<F: Future>((id, run): (NodeId, F)) -> (NodeId, F::Output) {
    (id, run.await)
}

impl<T> Gist<T> {
    /// Whether the node gave no answer at all.
    fn is_silence(&self) -> bool {
        let silence = discriminant(&ChainError::Unavailable(String::new()));
        matches!(self, Self::Failed(kind) if *kind == silence)
    }
}

/// The first of two verdicts that are alike. Two silences are none.
fn alike<T: PartialEq>(heard: &[(NodeId, Gist<T>)]) -> Option<usize> {
    heard.iter().position(|(id, gist)| {
        let same = |(other, said): &(NodeId, Gist<T>)| other != id && said == gist;
        !gist.is_silence() && heard.iter().any(same)
    })
}

/// Whether an error says something about the batch, rather than about the connection.
fn is_verdict(error: &ChainError) -> bool {
    !matches!(error, ChainError::Unavailable(_))
}

fn unclear() -> ChainError {
    ChainError::Unavailable(
        "the nodes disagree about what can be charged; post it again".to_owned(),
    )
}

/// Who is refused, and why.
fn refused(preflight: &Preflight) -> Vec<(SubscribeId, FailCode)> {
    let judged = judge(preflight.checked.clone());
    judged.refused.iter().map(|refused| (refused.subscribe, refused.code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_that_say_the_same_are_found_and_two_that_say_nothing_are_not() {
        let said = |id, what| (NodeId(id), Gist::Said(what));
        let silent = |id| {
            let error: Result<(), _> = Err(ChainError::Unavailable(format!("{id}")));
            (NodeId(id), Gist::of(&error, |()| "nothing"))
        };
        let fails = |id| {
            let error: Result<(), _> = Err(ChainError::CallFails(format!("in the words of {id}")));
            (NodeId(id), Gist::of(&error, |()| "nothing"))
        };
        assert_eq!(alike(&[said(0, "poor"), said(1, "poor")]), Some(0));
        assert_eq!(alike(&[said(0, "poor"), said(1, "rich")]), None);
        assert_eq!(alike(&[said(0, "poor"), said(1, "rich"), said(2, "rich")]), Some(1));
        assert_eq!(alike(&[silent(0), silent(1)]), None);
        assert_eq!(alike(&[silent(0), said(1, "poor")]), None);
        assert_eq!(alike(&[fails(0), fails(1)]), Some(0), "whatever the words");
        assert_eq!(alike(&[said(0, "poor"), said(0, "poor")]), None, "one node twice is one node");
    }
}
