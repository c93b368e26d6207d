//! Plans: one admin proposes, another approves, both by transactions of their own; the contract says which version is active.

use super::{Platform, Side};
use crate::chain::{ADMINS, Refused};
use crate::contracts::Billing;
use crate::store;
use crate::store::plans::Plan;
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::town::wallet;

/// A plan that an admin proposes.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) plan: u64,
    pub(crate) chain: u32,
    pub(crate) name: String,
    /// Base units for a period.
    pub(crate) amount: u128,
    pub(crate) interval_s: u32,
    /// 0 is without end.
    pub(crate) periods: u32,
    pub(crate) delay_s: u32,
    /// True if the proposal is another version of an existing plan.
    pub(crate) again: bool,
}

/// The state of a plan's version on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The proposal is in no block yet.
    Sent,
    /// It waits for a second admin.
    Pending,
    /// Links can be made of it.
    Active,
}

impl State {
    /// For people; the interface's own words where it has them.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Pending => "pending",
            Self::Active => "Active",
        }
    }
}

/// Why a plan is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("there is no chain {0}")]
    NoChain(u32),
    #[error(
        "plan {0} exists on this chain: a plan id is used once; propose another version of it, or choose another id"
    )]
    Taken(u64),
    #[error("there is no plan {0} on this chain")]
    NoPlan(u64),
    #[error("a plan needs an id from 1, an amount and an interval above 0")]
    BadTerms,
    #[error("a proposal of this plan is not in a block yet; try again in a few seconds")]
    Unsettled,
    #[error("the second approval has to come from another admin than {0}")]
    SameAdmin(String),
    #[error("this version is {0} already")]
    NotPending(&'static str),
    #[error("{0} is no admin account")]
    NoAdmin(String),
}

/// The wallet of an admin account.
pub(super) fn admin(name: &str) -> Result<PrivateKeySigner, PlanError> {
    let found = ADMINS.iter().find(|(account, _)| *account == name);
    let (_, of) = found.ok_or_else(|| PlanError::NoAdmin(name.to_owned()))?;
    Ok(wallet(of))
}

impl Platform {
    /// The first signature: an admin proposes a plan.
    pub(crate) fn propose(&self, by: &str, wanted: &Proposal) -> Result<Plan, PlanError> {
        let key = admin(by)?;
        let side = self.side(wanted.chain).ok_or(PlanError::NoChain(wanted.chain))?;
        if wanted.plan == 0 || wanted.amount == 0 || wanted.interval_s == 0 {
            return Err(PlanError::BadTerms);
        }
        let versions = self.store().versions(wanted.plan, side.id)?;
        match (versions.first(), wanted.again) {
            (Some(_), false) => return Err(PlanError::Taken(wanted.plan)),
            (None, true) => return Err(PlanError::NoPlan(wanted.plan)),
            (Some(newest), true) if side.state_of(newest) == State::Sent => {
                return Err(PlanError::Unsettled);
            }
            (Some(_), true) | (None, false) => {}
        }
        let (mer_key, payee, token) = (side.town.mer_key, side.town.payee, side.town.token);
        let terms = Billing::Terms {
            token,
            amount: wanted.amount,
            payee,
            interval: wanted.interval_s,
            periods: wanted.periods,
            delay: wanted.delay_s,
        };
        let call = Billing::proposePlanCall { merKey: mer_key, planId: wanted.plan, terms };
        let plan = Plan {
            id: wanted.plan,
            chain: side.id,
            version: versions.first().map_or(1, |newest| newest.version + 1),
            name: wanted.name.clone(),
            amount: wanted.amount.to_string(),
            interval_s: wanted.interval_s.into(),
            periods: wanted.periods.into(),
            delay_s: wanted.delay_s.into(),
            proposer: by.to_owned(),
            propose_tx: side.tell_contract(&key, &call)?,
            approver: None,
            approve_tx: None,
            created_ms: self.clock().now_ms(),
        };
        self.store().add_plan(&plan)?;
        self.say(format!("admin     {by} proposes plan {} on {}", plan.id, side.name()));
        Ok(plan)
    }

    /// The second signature: another admin approves a version.
    pub(crate) fn approve(
        &self,
        by: &str,
        plan: u64,
        chain: u32,
        version: u32,
    ) -> Result<(), PlanError> {
        let key = admin(by)?;
        let side = self.side(chain).ok_or(PlanError::NoChain(chain))?;
        let mut found = self.store().plan(plan, chain, version)?.ok_or(PlanError::NoPlan(plan))?;
        if found.proposer == by {
            return Err(PlanError::SameAdmin(found.proposer));
        }
        let state = side.state_of(&found);
        if state != State::Pending {
            return Err(PlanError::NotPending(state.word()));
        }
        let call = Billing::approvePlanCall { merKey: side.town.mer_key, planId: plan, version };
        found.approve_tx = Some(side.tell_contract(&key, &call)?);
        found.approver = Some(by.to_owned());
        self.store().approved(&found)?;
        self.say(format!(
            "admin     {by} approves plan {plan} version {version} on {}",
            side.name()
        ));
        Ok(())
    }

    /// The newest version of a plan that the contract says is approved.
    pub(crate) fn active_version(
        &self,
        side: &Side,
        plan: u64,
    ) -> Result<Option<u32>, store::Error> {
        let versions = self.store().versions(plan, side.id)?;
        let active = versions.iter().find(|plan| side.state_of(plan) == State::Active);
        Ok(active.map(|plan| plan.version))
    }
}
