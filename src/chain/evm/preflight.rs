//! What the chain says about a batch before it is signed: funds, and the billing call run as it
//! would be sent. One round trip, unless the call fails as a whole and the culprits must be named.

use super::EvmChain;
use super::gas::gas_limit;
use super::head::Head;
use super::node::{Call, View};
use super::probe::{Group, split};
use super::simulate::{self, Failure, Ran};
use crate::billing::{BadField, Charge, Checked, FailCode, Funds, Opinion, judge};
use crate::chain::profile::Computed;
use crate::chain::{ChainError, Estimate, Preflight};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// How many groups are tried at once.
const AT_ONCE: usize = 8;

/// What every run of one preflight shares.
pub(super) struct Trial<'a> {
    pub(super) view: View<'a>,
    pub(super) head: Arc<Head>,
    pub(super) charges: &'a [Charge],
}

impl EvmChain {
    /// Reads all funds and runs the billing call, in parallel.
    pub(super) async fn check_at(
        &self,
        view: View<'_>,
        charges: &[Charge],
    ) -> Result<Preflight, ChainError> {
        let mut opinions = self.encodable(charges);
        let fit: Group = (0..charges.len())
            .filter(|place| opinions.get(*place) == Some(&Opinion::Passes))
            .collect();
        let first_run = async {
            let view = view.clone();
            let trial = Trial { view, head: self.current().await?, charges };
            let ran = self.run(&trial, &fit).await?;
            Ok((trial, ran))
        };
        let (funds, (trial, ran)) = tokio::try_join!(self.funds(&view, charges), first_run)?;
        let (estimate, failure) = match ran {
            Ran::Passed { used, answer } => {
                self.note(&mut opinions, &fit, &answer)?;
                (Estimate { used, charges: fit.len() }, None)
            }
            Ran::Failed(failure) => {
                let short = short_of_funds(charges, &funds, &fit);
                let failed = vec![(fit.clone(), failure.clone())];
                (self.probe(&trial, &mut opinions, failed, &short).await?, Some(failure))
            }
        };
        let checked = together(charges, &funds, opinions);
        if let Some(failure) = failure
            && judge(checked.clone()).refused.is_empty()
        {
            return Err(self.unexplained(&trial, fit, &failure).await?);
        }
        Ok(Preflight { checked, estimate })
    }

    /// The billing call for `charges`, with the deadline counted from the head's time.
    pub(super) fn calldata(&self, head: &Head, charges: &[Charge]) -> Result<Vec<u8>, BadField> {
        let time = head.pulse.head_time;
        let deadline = time.saturating_add(self.parts.config.billing.deadline.as_secs());
        let computed = Computed { deadline, signer: self.parts.facts.signer };
        self.parts.profile.encode(charges, &computed)
    }

    /// Runs the billing call for the charges at `places` and says what it used.
    pub(super) async fn run(&self, trial: &Trial<'_>, places: &Group) -> Result<Ran, ChainError> {
        self.run_group(trial, places, true).await
    }

    /// What a failed call means, in words.
    pub(super) fn call_fails(&self, failure: &Failure) -> ChainError {
        let (code, detail) = self.parts.profile.reverted(&failure.data);
        let detail = detail.unwrap_or_else(|| failure.words.clone());
        ChainError::CallFails(format!("{}: {detail}", code.text()))
    }

    /// Takes down what a call that went through said about each of its items.
    pub(super) fn note(
        &self,
        opinions: &mut [Opinion],
        places: &Group,
        answer: &[u8],
    ) -> Result<(), ChainError> {
        let profile = &self.parts.profile;
        if !profile.per_item() || places.is_empty() {
            return Ok(());
        }
        let said = profile.opinions(answer, places.len());
        let said = said.filter(|said| said.len() == places.len()).ok_or_else(|| {
            let answer = "not what the billing profile says it returns".to_owned();
            ChainError::Node { question: "the billing call", answer }
        })?;
        for (place, opinion) in places.iter().zip(said) {
            set(opinions, *place, opinion);
        }
        Ok(())
    }

    async fn run_group(
        &self,
        trial: &Trial<'_>,
        places: &Group,
        measured: bool,
    ) -> Result<Ran, ChainError> {
        if places.is_empty() {
            return Ok(Ran::Passed { used: 0, answer: Vec::new().into() });
        }
        let charges: Vec<Charge> =
            places.iter().filter_map(|place| trial.charges.get(*place)).cloned().collect();
        let data = self
            .calldata(&trial.head, &charges)
            .map_err(|bad| ChainError::CallFails(bad.to_string()))?;
        let (from, to) = (self.parts.facts.signer, self.parts.facts.contract);
        let call = Call { from, to, data: &data, gas: self.gas_rules(&trial.head).most };
        if measured {
            return simulate::run(&trial.view, call).await;
        }
        Ok(match simulate::attempt(&trial.view, call).await? {
            Ok(answer) => Ran::Passed { used: 0, answer },
            Err(failure) => Ran::Failed(failure),
        })
    }

    /// Tries ever smaller groups until every culprit stands alone. When the batch without those
    /// short of funds passes, that is the estimate; else there is none.
    async fn probe(
        &self,
        trial: &Trial<'_>,
        opinions: &mut [Opinion],
        mut failed: Vec<(Group, Failure)>,
        short: &BTreeSet<usize>,
    ) -> Result<Estimate, ChainError> {
        let mut estimate = Estimate { used: 0, charges: trial.charges.len() };
        let mut measured = !short.is_empty();
        while !failed.is_empty() {
            let groups: Vec<Group> = failed.iter().flat_map(|(g, _)| split(g, short)).collect();
            for (group, failure) in &failed {
                if let [culprit] = group.as_slice() {
                    set(opinions, *culprit, self.blame(failure));
                }
            }
            failed = Vec::new();
            for (group, ran, first) in self.try_all(trial, groups, measured).await? {
                match ran {
                    Ran::Passed { used, answer } => {
                        self.note(opinions, &group, &answer)?;
                        if measured && first {
                            estimate = Estimate { used, charges: group.len() };
                        }
                    }
                    Ran::Failed(failure) => failed.push((group, failure)),
                }
            }
            measured = false;
        }
        Ok(estimate)
    }

    async fn try_all(
        &self,
        trial: &Trial<'_>,
        groups: Vec<Group>,
        measured: bool,
    ) -> Result<Vec<(Group, Ran, bool)>, ChainError> {
        let tries = groups.into_iter().enumerate().map(|(index, group)| async move {
            let first = index == 0;
            let ran = self.run_group(trial, &group, measured && first).await?;
            Ok((group, ran, first))
        });
        stream::iter(tries).buffered(AT_ONCE).try_collect().await
    }

    fn blame(&self, failure: &Failure) -> Opinion {
        let (code, detail) = self.parts.profile.reverted(&failure.data);
        Opinion::Refuses { code, detail }
    }

    /// The batch fails and no entry is to blame. Often it needs more gas than a call may use: then a
    /// part of it says how much.
    pub(super) async fn unexplained(
        &self,
        trial: &Trial<'_>,
        places: Group,
        failure: &Failure,
    ) -> Result<ChainError, ChainError> {
        let mut part = places.clone();
        loop {
            part.truncate(part.len() >> 1);
            if part.is_empty() {
                return Ok(self.call_fails(failure));
            }
            if let Ran::Passed { used, .. } = self.run(trial, &part).await? {
                let estimate = Estimate { used, charges: part.len() };
                return Ok(match gas_limit(&estimate, places.len(), self.gas_rules(&trial.head)) {
                    Ok(_) => self.call_fails(failure),
                    Err(too_large) => self.tried(trial, &places, too_large).await,
                });
            }
        }
    }

    /// Tries what is said to fit until it does: part of what a call uses does not grow with the
    /// batch, so that an estimate for many promises too much for fewer.
    pub(super) async fn tried(
        &self,
        trial: &Trial<'_>,
        places: &Group,
        mut said: ChainError,
    ) -> ChainError {
        while let ChainError::BatchTooLarge { max } = said
            && let Some(fewer) = places.get(..max).map(<[usize]>::to_vec)
            && let Ok(Ran::Passed { used, .. }) = self.run(trial, &fewer).await
            && let Err(again) =
                gas_limit(&Estimate { used, charges: max }, max, self.gas_rules(&trial.head))
        {
            said = again;
        }
        said
    }

    /// Refuses at once what no call can be made for.
    fn encodable(&self, charges: &[Charge]) -> Vec<Opinion> {
        let computed = Computed { deadline: 0, signer: self.parts.facts.signer };
        let profile = &self.parts.profile;
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
