//! The findings of `check` about single nodes, about who may sign and about who makes the blocks.

use super::super::head::TronHead;
use super::Inspection;
use crate::Finding;
use ::node::NodeId;
use prost::Message as _;
use tron_node::{Detail, Endpoints, Side};
use tron_primitives::address::to_base58;
use tron_primitives::block::{Producer, ProvenTransaction};
use tron_primitives::messages::{Raw, TRIGGER};
use tron_primitives::result::Ending;

/// Number of irrevocable blocks that are searched for a transaction.
const BLOCKS: u64 = 40;

/// Number of a block's transactions that are asked about.
const ASKED: usize = 8;

/// So many successful calls without a single log are no accident.
const SUSPICIOUS: usize = 3;

impl Inspection<'_> {
    /// The JSON-RPC URLs that are of no use.
    pub(super) fn dead_doors(&self) -> Vec<Finding> {
        let clients = self.access().fleet.clients().enumerate();
        let dead = clients.filter(|(_, client)| Endpoints::jsonrpc_is_dead(client));
        let finding = |(place, _): (usize, &Endpoints)| {
            let said = format!(
                "nodes[{place}].jsonrpc does not answer as a node's JSON-RPC does; everything is \
                 read over `full` instead: correct it, or leave it out"
            );
            Finding::fault("jsonrpc", said)
        };
        dead.map(finding).collect()
    }

    /// Finds out whether the key may sign for the account by itself, and who else may.
    pub(super) async fn permission(&self, head: &TronHead) -> Finding {
        let what = "permission to sign";
        let account =
            self.access().api().account(Side::Full, self.access().signer()).await.ok().flatten();
        let (active, others) =
            account.map_or_else(Default::default, |account| (account.active, account.others));
        if head.not_alone.is_none() {
            let said = "the key signs for the account alone";
            return Finding::fine(
                what,
                match named(&others) {
                    None => said.to_owned(),
                    Some(others) => format!(
                        "{said}. Other keys can sign for it as well, by its {others}: whatever they send \
                     is not in the journal, and spends the same money"
                    ),
                },
            );
        }
        let why = self
            .chain
            .throttle
            .halt(head.not_alone)
            .map_or_else(String::new, |closed| closed.to_string());
        Finding::fault(
            what,
            match named(&active) {
                None => why,
                Some(active) => {
                    format!("{why}. Its {active} would do, and nothing is signed by that")
                }
            },
        )
    }

    /// Finds out whether each node has the record of a transaction that it must know, and logs in the record:
    /// without them, every billing ends unproven.
    pub(super) async fn records(&self, head: &TronHead) -> Vec<Finding> {
        let mut found = Vec::new();
        for node in self.access().fleet.fit() {
            let label = self.access().fleet.label(node);
            found.push(match self.history_of(node, head).await {
                Ok(said) => Finding::fine("history", format!("{label}: {said}")),
                Err(why) => Finding::fault("history", format!("{label}: {why}")),
            });
        }
        found
    }

    async fn history_of(&self, node: NodeId, head: &TronHead) -> Result<String, String> {
        let (mut silent, mut asked) = (0_usize, 0_usize);
        for transaction in self.newest_calls(node, head).await {
            asked = asked.saturating_add(1);
            let id = transaction.id();
            match self.access().api_of(node).info(Side::Solidity, id).await {
                Err(error) => return Err(error.to_string()),
                Ok(None) => {
                    return Err(format!(
                        "it has no record of {id}, which is in an irrevocable block: it keeps no \
                         history (storage.transHistory.switch), and every billing would end unproven"
                    ));
                }
                Ok(Some(info)) if info.logs.is_empty() => silent = silent.saturating_add(1),
                Ok(Some(_)) => return Ok("it keeps records and logs".to_owned()),
            }
        }
        if silent >= SUSPICIOUS {
            return Err(format!(
                "its records of {silent} contract calls hold no log at all: every billing would end \
                 unproven"
            ));
        }
        Ok(match asked {
            0 => format!("not asked: no contract was called in the last {BLOCKS} blocks"),
            _ => "it keeps records; none of those asked for has logs".to_owned(),
        })
    }

    /// Successful contract calls in the newest irrevocable block that has any.
    async fn newest_calls(&self, node: NodeId, head: &TronHead) -> Vec<ProvenTransaction> {
        let newest = head.solid.number;
        for number in (newest.saturating_sub(BLOCKS)..=newest).rev() {
            let claimed =
                self.access().api_of(node).claimed(Side::Solidity, number, Detail::Whole).await;
            let proven = claimed.ok().flatten().and_then(|block| block.prove().ok());
            let Some(block) = proven else { continue };
            let calls = block.transactions().iter().filter(|one| is_call(one)).take(ASKED);
            let calls: Vec<ProvenTransaction> = calls.cloned().collect();
            if !calls.is_empty() {
                return calls;
            }
        }
        Vec::new()
    }

    /// Finds out who makes the blocks, as a row for the configuration.
    pub(super) async fn witnesses(&self, head: &TronHead) -> Finding {
        let what = "witnesses";
        if self.access().config.witnesses.is_some() {
            return Finding::fine(what, "pinned in the configuration");
        }
        self.chain.finality.load_witnesses(head.heights()).await;
        let Some(list) = self.chain.finality.witnesses() else {
            return Finding::fault(what, "no node shows who makes the blocks");
        };
        let row: Vec<String> = list.producers().map(spelled).collect();
        Finding::fine(
            what,
            format!(
                "as the nodes tell, {} that made a block lately: one that is down now is missing. To begin \
                 with these, whoever tells what, compare them with a source of your own, add who is \
                 missing (too short a list believes too few), and write: witnesses = [{}]",
                row.len(),
                row.join(", ")
            ),
        )
    }
}

fn is_call(transaction: &ProvenTransaction) -> bool {
    let calls = |raw: Raw| raw.contract.iter().any(|contract| contract.kind == TRIGGER);
    transaction.ending() == Ending::Succeeded
        && Raw::decode(transaction.raw_data()).is_ok_and(calls)
}

/// As the configuration has it: with the address that signs, where that is another.
fn spelled(producer: Producer) -> String {
    let (witness, signer) = (to_base58(producer.witness), to_base58(producer.signer));
    if witness == signer { format!("\"{witness}\"") } else { format!("\"{witness}/{signer}\"") }
}

/// Permissions in words; none where there is none.
fn named(ids: &[u64]) -> Option<String> {
    let one = |id: &u64| match id {
        0 => "owner permission".to_owned(),
        id => format!("active permission {id}"),
    };
    let all: Vec<String> = ids.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}
