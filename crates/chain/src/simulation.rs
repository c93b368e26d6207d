//! The billing call simulated for a batch before it is signed, on either family of chains: the verdict of a run on
//! each charge, and the culprits when it fails as a whole.
//!
//! Knows no node: an adapter runs the call, and returns its ending.

mod probe;

pub(super) use probe::Group;

use super::{CallFault, ChainError, Estimate, OddAnswer, Preflight};
use alloy::primitives::{Address, Bytes};
use async_trait::async_trait;
use billing::{Charge, Checked, FailCode, Funds, Opinion, judge};
use contract::{Computed, Profile};
use futures_util::{StreamExt, TryStreamExt, stream};
use probe::split;
use std::collections::{BTreeSet, HashSet};

/// The ending of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Simulated {
    /// It went through.
    Passed {
        /// Gas or energy used.
        used: u64,
        /// The returned data.
        answer: Bytes,
    },
    /// It failed as a whole.
    Failed(CallFailure),
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallFailure {
    /// The revert data; empty if the call ran out of gas or hit an invalid instruction.
    pub(super) data: Vec<u8>,
    /// The node's words.
    pub(super) words: String,
}

impl CallFailure {
    /// Returns the error that the failure means for the whole batch, in words.
    pub(super) fn of_all(&self, profile: &Profile) -> ChainError {
        let (code, detail) = profile.reverted(&self.data);
        let detail = detail.unwrap_or_else(|| self.words.clone());
        CallFault::Reverts { code, detail }.into()
    }

    /// The same as a sentence.
    pub(super) fn sentence(&self, profile: &Profile) -> String {
        let (code, detail) = profile.reverted(&self.data);
        code.sentence(detail.as_deref())
    }

    /// Returns true if the failure is about the account that signs, and not about anybody who is billed.
    pub(super) fn forbids(&self, profile: &Profile) -> bool {
        profile.reverted(&self.data).0 == FailCode::NotAuthorized
    }

    /// Returns the opinion that the failure means for the one charge that the call was run for.
    fn of_one(&self, profile: &Profile) -> Opinion {
        let (code, detail) = profile.reverted(&self.data);
        Opinion::Refuses { code, detail }
    }
}

/// Runs the billing call for parts of one batch, without sending it.
#[async_trait]
pub(super) trait Simulator: Sync {
    /// Returns the profile by which the contract is called.
    fn profile(&self) -> &Profile;

    /// The batch.
    fn charges(&self) -> &[Charge];

    /// Returns the number of runs that the node may be asked for at once.
    fn at_once(&self) -> usize;

    /// Runs the call for the charges at `places`.
    async fn run(&self, places: &Group, measure: Measure) -> Result<Simulated, ChainError>;
}

/// The results of a run that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The answer, and the gas or energy that the call used.
    Usage,
    /// The answer alone.
    Answer,
}

/// The charges that a call can be made for.
#[derive(Debug)]
pub(super) struct Fit {
    /// The opinion so far on every charge: charges that no call can be made for are refused.
    pub(super) opinions: Vec<Opinion>,
    /// The places of the others.
    pub(super) places: Group,
}

impl Fit {
    pub(super) fn of(profile: &Profile, charges: &[Charge], signer: Address) -> Self {
        let opinions = encodable(profile, charges, signer);
        let fits = |place: &usize| opinions.get(*place) == Some(&Opinion::Passes);
        let places = (0..charges.len()).filter(fits).collect();
        Self { opinions, places }
    }
}

/// The result of the runs for a batch.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A verdict on every charge.
    Judged(Preflight),
    /// The call fails, and no single charge is to blame.
    Unexplained(CallFailure),
}

/// From the first run, for all that fit, to a verdict on every charge. When that run failed, ever
/// smaller parts are run until every culprit stands alone.
pub(super) async fn conclude<R: Simulator>(
    runner: &R,
    funds: &[Option<Funds>],
    fit: Fit,
    first: Simulated,
) -> Result<Outcome, ChainError> {
    let Fit { mut opinions, places } = fit;
    let (estimate, failure) = match first {
        Simulated::Passed { used, answer } => {
            note(runner.profile(), &mut opinions, &places, &answer)?;
            (Estimate { used, charges: places.len() }, None)
        }
        Simulated::Failed(failure) => {
            let short = short_of_funds(runner.charges(), funds, &places);
            let failed = vec![(places, failure.clone())];
            (probe(runner, &mut opinions, failed, &short).await?, Some(failure))
        }
    };
    let checked = together(runner.charges(), funds, opinions);
    Ok(match failure {
        Some(failure) if judge(checked.clone()).refused.is_empty() => Outcome::Unexplained(failure),
        Some(_) | None => Outcome::Judged(Preflight { checked, estimate }),
    })
}

/// Returns true if a run that went through refuses nobody but those whose funds are short.
pub(super) fn passes_all_who_can_pay(
    profile: &Profile,
    charges: &[Charge],
    funds: &[Option<Funds>],
    places: &Group,
    answer: &[u8],
) -> bool {
    let mut opinions = vec![Opinion::Passes; charges.len()];
    if note(profile, &mut opinions, places, answer).is_err() {
        return false;
    }
    let refused = (0_usize..).zip(&opinions).filter(|(_, said)| **said != Opinion::Passes);
    let mut refused = refused.map(|(place, _)| place).peekable();
    if refused.peek().is_none() {
        return true;
    }
    let short = short_of_funds(charges, funds, places);
    refused.all(|place| short.contains(&place))
}

/// Takes down what a call that went through said about each of its items.
pub(super) fn note(
    profile: &Profile,
    opinions: &mut [Opinion],
    places: &Group,
    answer: &[u8],
) -> Result<(), ChainError> {
    if !profile.per_item() || places.is_empty() {
        return Ok(());
    }
    let said = profile.opinions(answer, places.len());
    let odd = ChainError::Node { question: "the billing call", answer: OddAnswer::NotByProfile };
    let said = said.filter(|said| said.len() == places.len()).ok_or(odd)?;
    for (place, opinion) in places.iter().zip(said) {
        set(opinions, *place, opinion);
    }
    Ok(())
}

/// Tries ever smaller groups until every culprit stands alone. When the batch without those short of
/// funds passes, that is the estimate; else there is none.
async fn probe<R: Simulator>(
    runner: &R,
    opinions: &mut [Opinion],
    mut failed: Vec<(Group, CallFailure)>,
    short: &BTreeSet<usize>,
) -> Result<Estimate, ChainError> {
    let profile = runner.profile();
    let mut estimate = Estimate { used: 0, charges: runner.charges().len() };
    let mut measured = !short.is_empty();
    while !failed.is_empty() {
        let groups: Vec<Group> = failed.iter().flat_map(|(g, _)| split(g, short)).collect();
        for (group, failure) in &failed {
            if let [culprit] = group.as_slice() {
                set(opinions, *culprit, failure.of_one(profile));
            }
        }
        failed = Vec::new();
        for (group, ran, first) in try_all(runner, groups, measured).await? {
            match ran {
                Simulated::Passed { used, answer } => {
                    note(profile, opinions, &group, &answer)?;
                    if measured && first {
                        estimate = Estimate { used, charges: group.len() };
                    }
                }
                Simulated::Failed(failure) => failed.push((group, failure)),
            }
        }
        measured = false;
    }
    Ok(estimate)
}

async fn try_all<R: Simulator>(
    runner: &R,
    groups: Vec<Group>,
    measured: bool,
) -> Result<Vec<(Group, Simulated, bool)>, ChainError> {
    let tries = groups.into_iter().enumerate().map(|(index, group)| async move {
        let first = index == 0;
        let measure = if measured && first { Measure::Usage } else { Measure::Answer };
        let ran = runner.run(&group, measure).await?;
        Ok((group, ran, first))
    });
    stream::iter(tries).buffered(runner.at_once()).try_collect().await
}

/// Refuses at once what no call can be made for.
fn encodable(profile: &Profile, charges: &[Charge], signer: Address) -> Vec<Opinion> {
    let computed = Computed { deadline: 0, signer };
    if profile.encode(charges, &computed).is_ok() {
        return vec![Opinion::Passes; charges.len()];
    }
    let opinion = |charge| match profile.encode(std::slice::from_ref(charge), &computed) {
        Ok(_) => Opinion::Passes,
        Err(bad) => {
            Opinion::Refuses { code: FailCode::InvalidEntry, detail: Some(bad.to_string()) }
        }
    };
    charges.iter().map(opinion).collect()
}

fn set(opinions: &mut [Opinion], place: usize, opinion: Opinion) {
    if let Some(slot) = opinions.get_mut(place) {
        *slot = opinion;
    }
}

fn together(charges: &[Charge], funds: &[Option<Funds>], opinions: Vec<Opinion>) -> Vec<Checked> {
    let parts = charges.iter().zip(funds).zip(opinions);
    parts
        .map(|((charge, funds), opinion)| Checked {
            charge: charge.clone(),
            funds: *funds,
            opinion,
        })
        .collect()
}

/// The places among `fit` whose wallets cannot pay, by the same cumulative rule that judges them.
fn short_of_funds(charges: &[Charge], funds: &[Option<Funds>], fit: &Group) -> BTreeSet<usize> {
    let checked = together(charges, funds, vec![Opinion::Passes; charges.len()]);
    let short: HashSet<_> =
        judge(checked).refused.iter().map(|refused| refused.subscribe).collect();
    let is_short = |place: &usize| {
        charges.get(*place).is_some_and(|charge| short.contains(&charge.entry.subscribe))
    };
    fit.iter().copied().filter(is_short).collect()
}
