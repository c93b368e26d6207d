//! The findings that `check` asks of a TRON chain.

mod doors;
mod energy;

use super::TronChain;
use super::access::Access;
use super::head::TronHead;
use super::resources::budget;
use crate::inspect::nodes_found;
use crate::reads::{Read, aggregated, answers};
use crate::simulation::CallFailure;
use crate::{Estimate, Finding};
use ::node::RealChain;
use alloy::primitives::U256;
use billing::{Family, coins};
use tron_node::{CallRan, Side};
use tron_primitives::address::to_base58;

/// Longest usual lag of the irrevocable blocks: 19 of 27 producers have to build on one.
const USUAL_LAG: u64 = 40;

/// Inspects a chain, part by part.
pub(super) struct Inspection<'a> {
    pub(super) chain: &'a TronChain,
}

impl Inspection<'_> {
    /// Looks at everything that a billing needs of the chain.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        let observed = self.chain.head.observe().await;
        let mut found = nodes_found(&*self.chain.base.nodes, &[]);
        let head = match observed {
            Ok(head) => head,
            Err(error) => {
                found.push(Finding::fault("head", error.to_string()));
                return found;
            }
        };
        found.extend([self.head(&head), solidity(&head)]);
        found.push(match self.chain.head.ready().await {
            Ok(_) => Finding::fine("contract", to_base58(self.access().contract())),
            Err(error) => Finding::fault("contract", error.to_string()),
        });
        found.extend(self.dead_doors());
        found.push(self.permission(&head).await);
        found.extend(self.records(&head).await);
        found.push(self.witnesses(&head).await);
        found.push(self.reading().await);
        found.push(self.account(&head).await);
        found.push(self.fees(&head));
        found.extend(self.energy_of_charges(&head).await);
        found.push(self.may_bill(&head).await);
        found
    }

    fn access(&self) -> &Access {
        &self.chain.access
    }

    fn head(&self, head: &TronHead) -> Finding {
        match head.timely(self.access().now_ms()) {
            Ok(()) => {
                let chain = RealChain::Genesis(self.access().config.chain_id);
                Finding::fine("head", format!("chain {chain}, block {}", head.newest.number))
            }
            Err(error) => Finding::fault("head", error.to_string()),
        }
    }

    /// Tries the aggregator on itself: an address with other code than Multicall3's answers wrongly.
    async fn reading(&self) -> Finding {
        let what = "multicall";
        let Some(at) = self.access().config.multicall else {
            return Finding::fine(what, "none configured: everything is read in single calls");
        };
        let itself = Read { target: at, data: aggregated(&[]), answer: 0 };
        let shown = to_base58(at);
        match self.access().ask(self.access().api(), at, &aggregated(&[itself])).await {
            Ok(CallRan::Passed { answer, .. }) => match answers(&answer, 1).as_deref() {
                Ok([Some(_)]) => Finding::fine(what, format!("deployed at {shown}")),
                Ok(_) | Err(_) => Finding::fault(what, format!("{shown} is not Multicall3")),
            },
            Ok(CallRan::Failed(failure)) => Finding::fault(
                what,
                format!(
                    "{shown} is not Multicall3: {}; correct it, or leave it out",
                    failure.words
                ),
            ),
            Ok(CallRan::Stopped(words)) => {
                Finding::fault(what, format!("the node stops it: {words}"))
            }
            Err(error) => Finding::fault(what, error.to_string()),
        }
    }

    async fn account(&self, head: &TronHead) -> Finding {
        let (what, me) = ("gas money", self.access().signer());
        let shown = to_base58(me);
        match self.access().api().account(Side::Full, me).await {
            Err(error) => return Finding::fault(what, error.to_string()),
            Ok(None) => {
                return Finding::fault(what, format!("{shown} is not activated: send TRX to it"));
            }
            Ok(Some(_)) => {}
        }
        match self.chain.spending.budget(head).map(|budget| (budget, budget.pays())) {
            Ok((_, Err(short))) => Finding::fault(what, short.to_string()),
            Ok((budget, Ok(()))) => Finding::fine(
                what,
                format!(
                    "{} at {shown}; an ordinary batch may burn {}",
                    budget.payer.coins(budget.holds),
                    budget.payer.coins(budget.ordinary)
                ),
            ),
            Err(error) => Finding::fault(what, error.to_string()),
        }
    }

    fn fees(&self, head: &TronHead) -> Finding {
        if let Err(dear) = self.chain.spending.could_pay_for_energy(head) {
            return Finding::fault("fees", dear.to_string());
        }
        let rules = self.access().energy_rules();
        let most = rules.max_fee_limit.min(head.prices.max_fee_limit);
        let energy = most.checked_div(head.prices.energy).unwrap_or_default();
        let said = format!(
            "energy costs {}; a fee limit of {} buys {energy}",
            trx(head.prices.energy),
            trx(most)
        );
        if rules.max_fee_limit > head.prices.max_fee_limit {
            return Finding::fine("fees", format!("{said} (the chain allows no higher limit)"));
        }
        Finding::fine("fees", said)
    }

    /// Runs the billing call for nobody: a contract that refuses the signer refuses that as well,
    /// and what it costs has to fit under the fee limit's ceiling.
    async fn may_bill(&self, head: &TronHead) -> Finding {
        let what = "permission to bill";
        let Ok(data) = self.access().calldata(head.view.head_time, &[]) else {
            return Finding::fine(what, "not asked: this contract cannot be asked to bill nobody");
        };
        let used =
            match self.access().call(self.access().api(), self.access().contract(), &data).await {
                Ok(CallRan::Passed { energy, .. }) => energy,
                Ok(CallRan::Failed(failure)) => {
                    let failure = CallFailure::from(failure).of_all(&self.access().account.profile);
                    return Finding::fault(what, failure.to_string());
                }
                Ok(CallRan::Stopped(words)) => {
                    return Finding::fault(what, format!("the node stops the call: {words}"));
                }
                Err(error) => return Finding::fault(what, error.to_string()),
            };
        let estimate = Estimate { used, charges: 1 };
        match budget(&estimate, 1, &head.prices, self.access().energy_rules()) {
            Ok(budget) => Finding::fine(
                what,
                format!(
                    "the contract takes an empty batch from the signer, for at most {}",
                    trx(budget.fee_limit)
                ),
            ),
            Err(error) => Finding::fault(what, error.to_string()),
        }
    }
}

fn trx(sun: u64) -> String {
    coins(U256::from(sun), Family::Tvm, 0)
}

fn solidity(head: &TronHead) -> Finding {
    let lag = head.newest.number.saturating_sub(head.solid.number);
    let said = format!("block {} is irrevocable, {lag} below the newest", head.solid.number);
    if lag <= USUAL_LAG {
        return Finding::fine("solidity", said);
    }
    Finding::fault("solidity", format!("{said}: the solidity node lags, or the chain stands"))
}
