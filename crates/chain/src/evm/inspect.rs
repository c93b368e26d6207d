//! The findings of `check` about an EVM chain.

use super::EvmChain;
use super::access::Access;
use super::fees::first_bid;
use super::head::EvmHead;
use super::simulation::BilledNobody;
use crate::inspect::nodes_found;
use crate::{Finding, Payer};
use alloy::primitives::U256;
use billing::decimal;
use evm_node::EvmNodeFacts;

/// Inspects a chain, part by part.
pub(super) struct Inspection<'a> {
    pub(super) chain: &'a EvmChain,
}

impl Inspection<'_> {
    /// Looks at everything that a billing needs of the chain.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        let observed = self.chain.head.observe().await;
        let mut found =
            nodes_found(&*self.chain.base.nodes, &self.access().final_chain.witness_views());
        let head = match observed {
            Ok(head) => head,
            Err(error) => {
                found.push(Finding::fault("head", error.to_string()));
                return found;
            }
        };
        let (config, facts) = (&self.access().config, &self.access().account.facts);
        let block = format!("chain {}, block {}", config.eip155_id, head.view.head);
        found.push(Finding::fine("head", block));
        found.push(match self.chain.head.ready().await {
            Ok(_) => Finding::fine("contract", facts.contract.to_string()),
            Err(error) => Finding::fault("contract", error.to_string()),
        });
        let known = self.chain.head.known();
        let has = |thing: fn(&EvmNodeFacts) -> bool| known.as_ref().is_some_and(thing);
        found.push(Finding::fine(
            "multicall",
            if has(|known| known.multicall) {
                format!("deployed at {}", config.multicall)
            } else {
                "not deployed: reads are done without it, in more calls".to_owned()
            },
        ));
        found.push(Finding::fine(
            "simulation",
            if has(|known| known.ways.reader) {
                "with all funds in one eth_call, by a state override"
            } else if has(|known| known.ways.simulates) {
                "eth_simulateV1"
            } else {
                "eth_call and eth_estimateGas: slower for large batches"
            },
        ));
        found.push(match self.chain.history.nonces.undenied().await {
            Ok(sent) => Finding::fine("nonces", format!("{} sent, pools included", sent.count)),
            Err(error) => Finding::fault("nonces", error.to_string()),
        });
        found.push(self.fees_now(&head));
        found.push(self.gas_money(&head));
        found.push(match self.chain.head.timely(&head) {
            Ok(()) => Finding::fine("clock", "the newest block is as old as it should be"),
            Err(gap) => Finding::fault("clock", gap.to_string()),
        });
        if has(|known| known.held_at_once == 1) {
            found.push(Finding::fine(
                "delegation",
                "the signer is delegated to a contract (EIP-7702): one transaction at a time",
            ));
        }
        found.push(self.may_bill(&head).await);
        found
    }

    fn access(&self) -> &Access {
        &self.chain.access
    }

    /// Finds the price that gas has now.
    fn fees_now(&self, head: &EvmHead) -> Finding {
        match first_bid(&head.market, &self.access().config.fees, self.access().raises()) {
            Ok(bid) => {
                let at_most = decimal(U256::from(bid.at_most()), 9);
                Finding::fine("fees", format!("at most {at_most} gwei per gas now"))
            }
            Err(error) => Finding::fault("fees", error.to_string()),
        }
    }

    /// Finds whether an ordinary batch could be paid.
    fn gas_money(&self, head: &EvmHead) -> Finding {
        let (what, signer) = ("gas money", self.access().signer());
        if let Ok(Err(short)) = self.chain.spending.budget(head).map(|budget| budget.pays()) {
            return Finding::fault(what, short.to_string());
        }
        let holds = head.balance(self.access().needed());
        Finding::fine(
            what,
            format!("{} at {signer}", Payer::of(&self.access().account.facts).coins(holds)),
        )
    }

    /// Runs the billing call for nobody: a contract that refuses the signer refuses that as well.
    async fn may_bill(&self, head: &EvmHead) -> Finding {
        let what = "permission to bill";
        let view = match self.chain.head.view_at(head).await {
            Ok(view) => view,
            Err(error) => return Finding::fault(what, error.to_string()),
        };
        match self.chain.simulation.bill_nobody(&view, head).await {
            Ok(BilledNobody::NotAsked) => {
                Finding::fine(what, "not asked: this contract cannot be asked to bill nobody")
            }
            Ok(BilledNobody::Passed) => {
                Finding::fine(what, "the contract takes an empty batch from the signer")
            }
            Ok(BilledNobody::Failed(failure)) => {
                Finding::fault(what, failure.of_all(&self.access().account.profile).to_string())
            }
            Err(error) => Finding::fault(what, error.to_string()),
        }
    }
}
