//! A verdict that would stop revenue needs a second provider. One that lets a charge pass does not:
//! the contract still decides.

use super::{ChainError, Preflight, Unanswered, Unready};
use ::node::{Client, Fleet, NodeId};
use billing::{Admitted, FailCode, SubscribeId, judge};
use contract::{Looked, Profile};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;
use tokio::time::sleep;

/// The most nodes that are asked for a second opinion.
pub(super) const OPINIONS: usize = 3;

/// The time for which two nodes are waited for before a third is asked as well.
const PATIENCE: Duration = Duration::from_millis(300);

/// The part of a verdict that two nodes have to agree about. Words differ between clients, and so does what they
/// say that a call uses.
#[derive(Clone, Debug, PartialEq)]
enum Digest<T> {
    Said(T),
    Failed(Discriminant<ChainError>),
}

impl<T> Digest<T> {
    fn of<V>(verdict: &Result<V, ChainError>, digest: impl Fn(&V) -> T) -> Self {
        match verdict {
            Ok(verdict) => Self::Said(digest(verdict)),
            Err(error) => Self::Failed(discriminant(error)),
        }
    }
}

/// Runs at two nodes at once, and at further ones when those differ or keep us waiting, until two
/// verdicts are alike. Those of other nodes that said something else are remembered.
pub(super) async fn two_alike<C: Client, V, T: PartialEq>(
    fleet: &Fleet<C>,
    runs: Vec<(NodeId, impl Future<Output = Result<V, ChainError>>)>,
    digest: impl Fn(&V) -> T,
) -> Result<V, ChainError> {
    let mut waiting = runs.into_iter().map(|(id, run)| named(id, run));
    let mut running: FuturesUnordered<_> = waiting.by_ref().take(2).collect();
    let (mut heard, mut verdicts) = (Vec::new(), Vec::new());
    let patience = sleep(PATIENCE);
    tokio::pin!(patience);
    let mut waited = false;
    loop {
        tokio::select! {
            biased;
            Some((id, verdict)) = running.next() => {
                heard.push((id, Digest::of(&verdict, &digest)));
                verdicts.push(verdict);
            }
            () = &mut patience, if !waited => {
                waited = true;
                running.extend(waiting.next());
            }
            else => return Err(unclear(fleet, &heard)),
        }
        if let Some(place) = alike(&heard) {
            tell_dissent(fleet, &heard, place);
            return verdicts.into_iter().nth(place).unwrap_or_else(|| Err(unclear(fleet, &heard)));
        }
        if running.is_empty() {
            running.push(waiting.next().ok_or_else(|| unclear(fleet, &heard))?);
        }
    }
}

fn tell_dissent<C: Client, T: PartialEq>(
    fleet: &Fleet<C>,
    heard: &[(NodeId, Digest<T>)],
    agreed: usize,
) {
    let agreed = heard.get(agreed).map(|(_, digest)| digest);
    for (id, digest) in heard {
        if Some(digest) != agreed && !digest.is_silence() {
            fleet.dissented(*id, "about what can be charged");
        }
    }
}

async fn named<F: Future>(id: NodeId, run: F) -> (NodeId, F::Output) {
    (id, run.await)
}

impl<T> Digest<T> {
    /// Returns true if the node gave no answer at all.
    fn is_silence(&self) -> bool {
        let silence = discriminant(&ChainError::Unavailable(Unanswered::NoNode));
        matches!(self, Self::Failed(kind) if *kind == silence)
    }
}

/// The first of two verdicts that are alike. Two silences are none.
fn alike<T: PartialEq>(heard: &[(NodeId, Digest<T>)]) -> Option<usize> {
    heard.iter().position(|(id, digest)| {
        let same = |(other, said): &(NodeId, Digest<T>)| other != id && said == digest;
        !digest.is_silence() && heard.iter().any(same)
    })
}

/// Returns true if an error says something about the batch, rather than about the connection.
pub(super) fn is_verdict(error: &ChainError) -> bool {
    !matches!(error, ChainError::Unavailable(_))
}

/// No two verdicts are alike: those who were asked contradict each other, or too few of them said anything.
fn unclear<C: Client, T>(fleet: &Fleet<C>, heard: &[(NodeId, Digest<T>)]) -> ChainError {
    let (silent, said): (Vec<_>, Vec<_>) =
        heard.iter().partition(|(_, digest)| digest.is_silence());
    if said.len() > 1 {
        return Unanswered::Disagreed.into();
    }
    let silent = silent.into_iter().map(|(id, _)| fleet.label(*id).to_owned()).collect();
    Unanswered::OthersSilent { needed: fleet.needed(), silent }.into()
}

/// Fewer providers can be asked than have to agree before somebody is refused, or a period claimed.
pub(super) fn too_few<C: Client>(fleet: &Fleet<C>) -> ChainError {
    Unanswered::TooFewNow { needed: fleet.needed() }.into()
}

/// An error where every request would hear [`too_few`]: nothing is charged on one provider's word where
/// entries are looked up.
pub(super) fn can_be_looked_up<C: Client>(
    fleet: &Fleet<C>,
    profile: &Profile,
) -> Result<(), Unready> {
    if !profile.has_lookup() || fleet.is_quorate() {
        return Ok(());
    }
    Err(Unready::TooFew { needed: fleet.needed(), fit: fleet.fit().len() })
}

/// Returns true if the answers of the lookup would refuse one of the entries.
pub(super) fn refuses(profile: &Profile, entries: &[Admitted], looked: &[Option<Looked>]) -> bool {
    let good = |(entry, looked): (&Admitted, &Option<Looked>)| {
        profile.complete(entry.clone(), looked.as_ref()).is_ok()
    };
    !entries.iter().zip(looked).all(good)
}

/// Returns true if a first verdict stops anybody.
pub(super) fn stops(first: &Result<Preflight, ChainError>) -> bool {
    first.as_ref().map_or_else(is_verdict, |preflight| !refused(preflight).is_empty())
}

/// Returns the refused subscriptions, each with the reason.
pub(super) fn refused(preflight: &Preflight) -> Vec<(SubscribeId, FailCode)> {
    let judged = judge(preflight.checked.clone());
    judged.refused.iter().map(|refused| (refused.subscribe, refused.code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallFault;

    #[test]
    fn two_nodes_that_say_the_same_are_found_and_two_that_say_nothing_are_not() {
        let said = |id, what| (NodeId(id), Digest::Said(what));
        let silent = |id: u16| {
            let error: Result<(), ChainError> = Err(Unanswered::Unwitnessed(id.into()).into());
            (NodeId(id.into()), Digest::of(&error, |()| "nothing"))
        };
        let fails = |id| {
            let error: Result<(), ChainError> =
                Err(CallFault::NoContract(format!("in the words of {id}")).into());
            (NodeId(id), Digest::of(&error, |()| "nothing"))
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
