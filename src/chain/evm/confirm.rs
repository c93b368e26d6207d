//! A verdict that would stop revenue needs a second node. One that lets a charge pass does not: the
//! contract still decides.
//!
//! The first look may have been at a head that is some seconds old, so the second opinion begins with
//! a new look at the heads, and asks two nodes about the same block.

use super::EvmChain;
use crate::billing::{Charge, Entry, FailCode, SubscribeId, judge};
use crate::chain::fleet::NodeId;
use crate::chain::profile::Looked;
use crate::chain::{ChainError, Preflight};
use std::mem::{Discriminant, discriminant};

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

    /// What the profile's lookup says of every entry; confirmed where it would refuse one.
    pub(super) async fn looked_up(
        &self,
        entries: &[Entry],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let view = self.view().await?;
        let first = self.look_up_at(&view, entries).await;
        let stops = first.as_ref().map_or_else(is_verdict, |looked| self.refuses(entries, looked));
        if !stops || self.parts.fleet.fit().len() < 2 {
            return first;
        }
        let mut runs = Vec::new();
        for (id, view) in self.fresh_views().await? {
            runs.push((id, async move { self.look_up_at(&view, entries).await }));
        }
        self.two_alike(runs, Clone::clone).await
    }

    fn refuses(&self, entries: &[Entry], looked: &[Option<Looked>]) -> bool {
        let profile = &self.parts.profile;
        let good = |(entry, looked): (&Entry, &Option<Looked>)| {
            profile.complete(entry.clone(), looked.as_ref()).is_ok()
        };
        !entries.iter().zip(looked).all(good)
    }

    /// Runs at one node after the other, two at once to begin with, until two verdicts are alike.
    /// Those of other nodes that said something else are remembered.
    async fn two_alike<V, T: PartialEq>(
        &self,
        runs: impl IntoIterator<Item = (NodeId, impl Future<Output = Result<V, ChainError>>)>,
        gist: impl Fn(&V) -> T,
    ) -> Result<V, ChainError> {
        let mut runs = runs.into_iter();
        let (Some((a, first)), Some((b, second))) = (runs.next(), runs.next()) else {
            return Err(unclear());
        };
        let (first, second) = tokio::join!(first, second);
        let mut heard = vec![(a, Gist::of(&first, &gist)), (b, Gist::of(&second, &gist))];
        let mut verdicts = vec![first, second];
        loop {
            let alike = alike(&heard);
            if let Some(place) = alike.filter(|place| *place < verdicts.len()) {
                let verdict = verdicts.swap_remove(place);
                let Some((_, agreed)) = heard.get(place) else { return verdict };
                let others = heard.iter().filter(|(_, gist)| gist != agreed);
                for (id, gist) in others {
                    if !gist.is_silence() {
                        self.parts.fleet.dissented(*id, "about what can be charged");
                    }
                }
                return verdict;
            }
            let Some((id, run)) = runs.next() else { return Err(unclear()) };
            let verdict = run.await;
            heard.push((id, Gist::of(&verdict, &gist)));
            verdicts.push(verdict);
        }
    }
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
