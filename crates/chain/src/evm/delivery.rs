//! Offering committed bytes to all nodes, and what their answers mean together.
//!
//! No answer proves that the transaction cannot land: rejections only choose what to do next.

use crate::Delivery;
use ::node::{AskError, Fleet, JsonRpc, NodeId, Request};
use alloy::primitives::B256;
use billing::{NodeRejection, Signed};
use evm_testimony::errors::{ErrorMeaning, meaning};
use parking_lot::Mutex;
use std::sync::Arc;
use tracing::error;

/// Offers the account's transactions to the nodes.
#[derive(Debug)]
pub(super) struct Broadcaster {
    pub(super) fleet: Arc<Fleet<JsonRpc>>,
}

impl Broadcaster {
    /// Offers bytes that are on disk. Only [`crate::Chain::deliver`] calls this.
    pub(super) async fn offer(&self, signed: &Signed) -> Delivery {
        let fleet = &self.fleet;
        let witness =
            Witness { fleet: Arc::clone(fleet), ours: signed.hash, seen: Mutex::default() };
        let raw = alloy::hex::encode_prefixed(&signed.raw);
        let offer = Request::of("eth_sendRawTransaction", [raw]);
        let answers = fleet.broadcast(offer, move |id, answer| witness.hears(id, answer)).await;
        let answers: Vec<NodeSaid> = answers.into_iter().map(|(_, answer)| answer).collect();
        delivery(&answers, signed.hash, fleet.needed())
    }
}

/// The answer of a node to the bytes: the hash that it names, or the reason why it named none.
pub(crate) type NodeSaid = Result<B256, AskError>;

/// Returns the joint meaning of all answers to the bytes with this hash.
pub(super) fn delivery(said: &[NodeSaid], ours: B256, needed: usize) -> Delivery {
    let answers: Vec<(NodeAnswer, String)> =
        said.iter().map(|said| (read(said, ours), words(said))).collect();
    together(&answers, needed)
}

/// The meaning of one node's answer to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeAnswer {
    /// It has them.
    Has,
    /// It named another transaction than the one that it was given.
    Foreign,
    /// Anything else.
    Means(ErrorMeaning),
}

fn read(said: &NodeSaid, ours: B256) -> NodeAnswer {
    match said {
        Ok(hash) if *hash == ours => NodeAnswer::Has,
        Ok(_) => NodeAnswer::Foreign,
        Err(error) if meaning(&error.fault) == ErrorMeaning::Held => NodeAnswer::Has,
        Err(error) => NodeAnswer::Means(meaning(&error.fault)),
    }
}

fn words(said: &NodeSaid) -> String {
    match said {
        Ok(hash) => format!("the node names another transaction: {hash}"),
        Err(error) => error.to_string(),
    }
}

/// One verdict from all answers. Any node that has the bytes is enough. A rejection counts when no
/// node may have taken them in silence; a node that was not reached says nothing either way.
fn together(answers: &[(NodeAnswer, String)], needed: usize) -> Delivery {
    if answers.iter().any(|(answer, _)| *answer == NodeAnswer::Has) {
        return Delivery::Accepted;
    }
    let unclear = |answer: NodeAnswer| match answer {
        NodeAnswer::Foreign | NodeAnswer::Means(ErrorMeaning::Ambiguous) => true,
        NodeAnswer::Has
        | NodeAnswer::Means(
            ErrorMeaning::Held
            | ErrorMeaning::Objects(_)
            | ErrorMeaning::Swamped
            | ErrorMeaning::Unheard,
        ) => false,
    };
    if let Some((_, said)) = answers.iter().find(|(answer, _)| unclear(*answer)) {
        return Delivery::Unknown(said.clone());
    }
    let rejections: Vec<(NodeRejection, &str)> = answers
        .iter()
        .filter_map(|(answer, said)| Some((rejection(*answer)?, said.as_str())))
        .collect();
    let heavy = rejections.iter().map(|(raised, _)| weight(*raised, &rejections, needed));
    match heavy.zip(&rejections).max_by_key(|(weight, _)| *weight) {
        Some((_, (rejection, said))) => {
            let lonely =
                *rejection == NodeRejection::Structural && count(*rejection, &rejections) < needed;
            // That no node can take them is not for one node alone to say where two are configured.
            let rejection = if lonely { NodeRejection::Policy } else { *rejection };
            Delivery::Refused { rejection, message: (*said).to_owned() }
        }
        None => Delivery::Unknown(
            answers.first().map_or("no node answered in time", |(_, said)| said).to_owned(),
        ),
    }
}

fn rejection(answer: NodeAnswer) -> Option<NodeRejection> {
    match answer {
        NodeAnswer::Means(ErrorMeaning::Objects(rejection)) => Some(rejection),
        NodeAnswer::Means(ErrorMeaning::Swamped) => Some(NodeRejection::Busy),
        NodeAnswer::Has
        | NodeAnswer::Foreign
        | NodeAnswer::Means(ErrorMeaning::Held | ErrorMeaning::Ambiguous | ErrorMeaning::Unheard) => {
            None
        }
    }
}

fn count(one: NodeRejection, all: &[(NodeRejection, &str)]) -> usize {
    all.iter().filter(|(other, _)| *other == one).count()
}

/// Returns the weight of a rejection. A rejection of the transaction outweighs one about the node; then the more
/// frequent one counts; then the one that leads further.
fn weight(one: NodeRejection, all: &[(NodeRejection, &str)], needed: usize) -> (bool, usize, u8) {
    let rank = match one {
        NodeRejection::NonceTaken => 8,
        NodeRejection::Structural => 7,
        NodeRejection::Underpriced => 6,
        NodeRejection::Replaced => 5,
        NodeRejection::Starved => 4,
        NodeRejection::Gap => 3,
        NodeRejection::Reverts => 2,
        NodeRejection::Policy | NodeRejection::Late => 1,
        NodeRejection::Busy => 0,
    };
    let often = count(one, all);
    let lonely = one == NodeRejection::Structural && often < needed;
    (rank > 1 && !lonely, often, rank)
}

/// Hears every answer, late ones too, and remembers who lied and who contradicted whom.
struct Witness {
    fleet: Arc<Fleet<JsonRpc>>,
    ours: B256,
    seen: Mutex<AnswersSeen>,
}

#[derive(Default)]
struct AnswersSeen {
    has: bool,
    structural: Option<String>,
    told: bool,
}

impl Witness {
    /// Returns true if this answer is an acceptance.
    fn hears(&self, id: NodeId, said: &NodeSaid) -> bool {
        let answer = read(said, self.ours);
        if answer == NodeAnswer::Foreign {
            self.fleet.caught_lying(id, "it was given one transaction and named another");
        }
        let mut seen = self.seen.lock();
        seen.has |= answer == NodeAnswer::Has;
        if answer == NodeAnswer::Means(ErrorMeaning::Objects(NodeRejection::Structural)) {
            seen.structural = Some(format!("{}: {}", self.fleet.label(id), words(said)));
        }
        if let (true, false, Some(rejection)) = (seen.has, seen.told, &seen.structural) {
            error!(
                tx.hash = %self.ours, objection = rejection,
                "one node has a transaction that another says no node can take"
            );
            seen.told = true;
        }
        answer == NodeAnswer::Has
    }
}

#[cfg(test)]
mod tests;
