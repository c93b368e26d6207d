//! Offering committed bytes to a node, and what its answer means.
//!
//! Every answer describes one call only. Bytes that were offered once can land until the chain has
//! passed their expiration, whatever any node says: an answer only chooses what to do next.

use crate::Delivery;
use ::node::{AskError, Fault, Fleet, NoReply, NodeId};
use alloy::primitives::B256;
use billing::{NodeRejection, Signed};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tron_node::{Broadcast, Endpoints, offer};

/// The meaning of one answer for the call that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BroadcastMeaning {
    /// The node has put the transaction into its pool. It can still drop it.
    Pooled,
    /// The transaction may be in the pool, in a block, or nowhere.
    Maybe,
    /// This call did not put it into the pool, and this is why.
    Not(NodeRejection),
}

/// The meanings of the codes; a code that is not here is [`BroadcastMeaning::Maybe`]. The second column is the
/// beginning of the message; the first row that fits counts.
///
/// java-tron: framework/.../core/Wallet.java, `broadcastTransaction`. `CONTRACT_EXE_ERROR` and
/// `OTHER_ERROR` are left out on purpose: they also follow after the transaction was pooled.
const ANSWERS: [(&str, &str, BroadcastMeaning); 13] = [
    ("SUCCESS", "", BroadcastMeaning::Pooled),
    // Known here; or, with trxCacheEnable, once refused here.
    (KNOWN, "", BroadcastMeaning::Maybe),
    // Pooled first, then handed to nobody.
    ("NOT_ENOUGH_EFFECTIVE_CONNECTION", "P2P broadcast failed.", BroadcastMeaning::Maybe),
    ("NOT_ENOUGH_EFFECTIVE_CONNECTION", "Effective connection:", BUSY),
    ("NO_CONNECTION", "", BUSY),
    ("SERVER_BUSY", "", BUSY),
    ("BLOCK_UNSOLIDIFIED", "", BUSY),
    // The node lags behind the block that it builds on, or is on a fork.
    ("TAPOS_ERROR", "", BUSY),
    ("BANDWITH_ERROR", "", BroadcastMeaning::Not(NodeRejection::Starved)),
    // A permission may have changed, here only or everywhere.
    ("SIGERROR", "", BroadcastMeaning::Not(NodeRejection::Policy)),
    ("TOO_BIG_TRANSACTION_ERROR", "", BroadcastMeaning::Not(NodeRejection::Structural)),
    // Said of a transaction that is in a block, too: expiry is judged before duplicates are.
    ("TRANSACTION_EXPIRATION_ERROR", "", BroadcastMeaning::Not(NodeRejection::Late)),
    ("CONTRACT_VALIDATE_ERROR", "", BroadcastMeaning::Not(NodeRejection::Policy)),
];

const KNOWN: &str = "DUP_TRANSACTION_ERROR";

/// Number of transactions taken by nodes that are remembered.
const KEPT: usize = 512;

const BUSY: BroadcastMeaning = BroadcastMeaning::Not(NodeRejection::Busy);

/// Beginning of a node's words that it does not take broadcasts at all. java-tron:
/// framework/.../services/filter/HttpApiAccessFilter.java
const DISABLED: &str = "this API is unavailable due to config";

/// Offers the account's transactions to the nodes.
#[derive(Debug)]
pub(super) struct Broadcaster {
    fleet: Arc<Fleet<Endpoints>>,
    /// The transactions that each node has taken.
    taken: Arc<Taken>,
}

impl Broadcaster {
    /// No node has taken anything yet.
    pub(super) fn of(fleet: Arc<Fleet<Endpoints>>) -> Self {
        Self { fleet, taken: Arc::default() }
    }

    /// Offers bytes that are on disk to every node. Only [`crate::Chain::deliver`] calls this.
    pub(super) async fn offer(&self, signed: &Signed) -> Delivery {
        let (fleet, ours) = (&self.fleet, signed.hash);
        let (witness, taken) = (Arc::clone(fleet), Arc::clone(&self.taken));
        let accepts = move |id: NodeId, answer: &Result<Broadcast, AskError>| {
            let names_another = |answer: &Broadcast| answer.txid.is_some_and(|txid| txid != ours);
            if answer.as_ref().is_ok_and(names_another) {
                witness.caught_lying(id, "it was given one transaction and named another");
            }
            let is_taken = judge(answer.as_ref(), ours) == Delivery::Accepted;
            if is_taken {
                taken.note((id, ours));
            }
            is_taken || taken.is_known_again((id, ours), answer)
        };
        let answers = fleet.broadcast(offer(&signed.raw), accepts).await;
        let cleaned = |answer: Broadcast| answer.cleaned(|text| fleet.clean(text));
        let deliveries = answers.into_iter().map(|(id, answer)| match answer {
            answer if self.taken.is_known_again((id, ours), &answer) => Delivery::Accepted,
            answer => judge(answer.map(cleaned).as_ref(), ours),
        });
        together(deliveries.collect(), fleet.needed())
    }
}

/// The nodes that have taken a transaction since this process began, each with the transaction.
#[derive(Debug, Default)]
struct Taken(Mutex<VecDeque<(NodeId, B256)>>);

impl Taken {
    fn note(&self, taken: (NodeId, B256)) {
        let mut all = self.0.lock();
        if !all.contains(&taken) {
            all.push_back(taken);
        }
        if all.len() > KEPT {
            all.pop_front();
        }
    }

    /// Returns true if a node that took the transaction says that it has it: from any other node, the same answer
    /// may mean that the transaction was refused there before.
    fn is_known_again(&self, by: (NodeId, B256), said: &Result<Broadcast, AskError>) -> bool {
        let known = |said: &Broadcast| said.code == KNOWN && said.txid == Some(by.1);
        said.as_ref().is_ok_and(known) && self.0.lock().contains(&by)
    }
}

/// One verdict from all answers. Any node that has the bytes is enough. A rejection counts when no
/// node may have taken them in silence, and that no node can take them is not for one alone to say
/// where two providers are configured.
fn together(said: Vec<Delivery>, needed: usize) -> Delivery {
    let structural = |one: &&Delivery| match one {
        Delivery::Refused { rejection, .. } => *rejection == NodeRejection::Structural,
        Delivery::Accepted | Delivery::Unknown(_) => false,
    };
    let lonely = said.iter().filter(structural).count() < needed;
    let heaviest = said.into_iter().map(|one| match one {
        Delivery::Refused { rejection: NodeRejection::Structural, message } if lonely => {
            Delivery::Refused { rejection: NodeRejection::Policy, message }
        }
        one @ (Delivery::Accepted | Delivery::Refused { .. } | Delivery::Unknown(_)) => one,
    });
    heaviest
        .max_by_key(weight)
        .unwrap_or_else(|| Delivery::Unknown("no node answered in time".to_owned()))
}

/// Returns the weight of one answer beside others: an acceptance decides; a silence outweighs rejections; an
/// rejection of the transaction outweighs one about the node.
fn weight(one: &Delivery) -> u8 {
    match one {
        Delivery::Accepted => 4,
        Delivery::Unknown(_) => 3,
        Delivery::Refused {
            rejection: NodeRejection::Structural | NodeRejection::Starved, ..
        } => 2,
        Delivery::Refused { rejection: NodeRejection::Busy, .. } => 0,
        Delivery::Refused { .. } => 1,
    }
}

/// Returns the meaning of an answer to the offer of `ours`.
pub(super) fn judge(said: Result<&Broadcast, &AskError>, ours: B256) -> Delivery {
    let said = match said {
        Ok(said) => said,
        Err(error) => return unanswered(error),
    };
    let words = format!("{}: {}", said.code, said.message);
    match said.txid {
        Some(id) if id == ours => {}
        Some(id) => return Delivery::Unknown(format!("the node names another transaction: {id}")),
        None => return Delivery::Unknown(format!("the node names no transaction; {words}")),
    }
    match (meaning(&said.code, &said.message), said.result) {
        (BroadcastMeaning::Pooled, true) => Delivery::Accepted,
        (BroadcastMeaning::Not(rejection), false) => refused(rejection, words),
        (BroadcastMeaning::Maybe, _) | (BroadcastMeaning::Pooled, false) | (_, true) => {
            Delivery::Unknown(words)
        }
    }
}

/// A server that has not looked at the question has not taken the bytes; of any other silence
/// nothing is known.
fn unanswered(error: &AskError) -> Delivery {
    let words = error.to_string();
    match &error.fault {
        Fault::ShutOut { .. } | Fault::Http(404 | 413) => refused(NodeRejection::Busy, words),
        Fault::WrongChain { .. } | Fault::NoNode | Fault::Lost(NoReply::Refused) => {
            refused(NodeRejection::Busy, words)
        }
        Fault::Node(said) if said.message == DISABLED => refused(NodeRejection::Policy, words),
        Fault::Node(_) | Fault::Lost(_) | Fault::Http(_) | Fault::Garbled => {
            Delivery::Unknown(words)
        }
    }
}

fn refused(rejection: NodeRejection, said: String) -> Delivery {
    Delivery::Refused { rejection, message: said }
}

fn meaning(code: &str, message: &str) -> BroadcastMeaning {
    ANSWERS
        .iter()
        .find(|(known, start, _)| *known == code && message.starts_with(start))
        .map_or(BroadcastMeaning::Maybe, |(_, _, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_took_a_transaction_and_says_that_it_has_it_is_no_surprise_and_any_other_is() {
        let (hash, other) = (B256::repeat_byte(7), B256::ZERO);
        let known = |txid| Broadcast {
            result: false,
            code: KNOWN.to_owned(),
            message: "Dup transaction.".to_owned(),
            txid,
        };
        let taken = Taken::default();
        let is_known =
            |node, hash| taken.is_known_again((NodeId(node), hash), &Ok(known(Some(hash))));
        assert!(!is_known(0, hash));
        taken.note((NodeId(0), hash));
        assert!(is_known(0, hash));
        assert!(!is_known(1, hash), "there it may have been refused before");
        assert!(!is_known(0, other));
        assert!(
            !taken.is_known_again((NodeId(0), hash), &Ok(known(None))),
            "it names no transaction"
        );
        let busy = Broadcast { code: "SERVER_BUSY".to_owned(), ..known(Some(hash)) };
        assert!(!taken.is_known_again((NodeId(0), hash), &Ok(busy)));
    }
}
