//! The findings of `check` about an EVM chain.

use super::fees::first_bid;
use super::head::EvmHead;
use super::node::{Call, View};
use super::{EvmChain, simulate};
use crate::inspect::nodes_found;
use crate::simulation::CallFailure;
use crate::{ChainError, Finding, Payer};
use alloy::primitives::{Bytes, U256};
use billing::decimal;

impl EvmChain {
    /// Looks at everything that a billing needs of the chain.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        let observed = self.observe().await;
        let mut found = nodes_found(&*self.base.nodes);
        let head = match observed {
            Ok(head) => head,
            Err(error) => {
                found.push(Finding::fault("head", error.to_string()));
                return found;
            }
        };
        let (config, facts) = (&self.parts.config, &self.account.facts);
        let block = format!("chain {}, block {}", config.eip155_id, head.pulse.head);
        found.push(Finding::fine("head", block));
        found.push(match self.ready().await {
            Ok(_) => Finding::fine("contract", facts.contract.to_string()),
            Err(error) => Finding::fault("contract", error.to_string()),
        });
        let known = self.known();
        let has = |thing: fn(&super::EvmNodeFacts) -> bool| known.as_ref().is_some_and(thing);
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
        found.push(match self.undenied_nonce().await {
            Ok(sent) => Finding::fine("nonces", format!("{} sent, pools included", sent.count)),
            Err(error) => Finding::fault("nonces", error.to_string()),
        });
        found.push(self.fees_now(&head));
        found.push(self.gas_money(&head));
        found.push(match self.timely(&head) {
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

    /// Finds the price that gas has now.
    fn fees_now(&self, head: &EvmHead) -> Finding {
        match first_bid(&head.market, &self.parts.config.fees, self.raises()) {
            Ok(bid) => {
                let at_most = decimal(U256::from(bid.at_most()), 9);
                Finding::fine("fees", format!("at most {at_most} gwei per gas now"))
            }
            Err(error) => Finding::fault("fees", error.to_string()),
        }
    }

    /// Finds whether an ordinary batch could be paid.
    fn gas_money(&self, head: &EvmHead) -> Finding {
        let (what, signer) = ("gas money", self.account.facts.signer);
        if let Ok(Err(short)) = self.budget(head).map(|budget| budget.pays()) {
            return Finding::fault(what, short.to_string());
        }
        let holds = head.balance(self.parts.fleet.needed());
        Finding::fine(what, format!("{} at {signer}", Payer::of(&self.account.facts).coins(holds)))
    }

    /// Runs the billing call for nobody: a contract that refuses the signer refuses that as well.
    async fn may_bill(&self, head: &EvmHead) -> Finding {
        let what = "permission to bill";
        let view = match self.view_at(head).await {
            Ok(view) => view,
            Err(error) => return Finding::fault(what, error.to_string()),
        };
        match self.billed_nobody(&view, head).await {
            Ok(None) => {
                Finding::fine(what, "not asked: this contract cannot be asked to bill nobody")
            }
            Ok(Some(Ok(_))) => {
                Finding::fine(what, "the contract takes an empty batch from the signer")
            }
            Ok(Some(Err(failure))) => {
                Finding::fault(what, failure.of_all(&self.account.profile).to_string())
            }
            Err(error) => Finding::fault(what, error.to_string()),
        }
    }

    /// An error where the contract refuses the account itself, whoever is billed.
    pub(super) async fn permitted_at(
        &self,
        view: &View<'_>,
        head: &EvmHead,
    ) -> Result<(), ChainError> {
        match self.billed_nobody(view, head).await? {
            Some(Err(failure)) if failure.forbids(&self.account.profile) => {
                Err(self.account.forbidden(&failure))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the result of the billing call for nobody; none where there is no such call.
    async fn billed_nobody(
        &self,
        view: &View<'_>,
        head: &EvmHead,
    ) -> Result<Option<Result<Bytes, CallFailure>>, ChainError> {
        let Ok(data) = self.calldata(head, &[]) else { return Ok(None) };
        let (from, to) = (self.account.facts.signer, self.account.facts.contract);
        let call = Call { from, to, data: &data, gas: self.gas_rules(head).most };
        simulate::attempt(view, call).await.map(Some)
    }
}
