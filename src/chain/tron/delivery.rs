//! Offering committed bytes to a node, and what its answer means.
//!
//! Every answer describes one call only. Bytes that were offered once can land until the chain has
//! passed their expiration, whatever any node says: an answer only chooses what to do next.

use super::TronChain;
use super::api::{ApiError, Broadcast, Fault};
use crate::billing::{Objection, Signed};
use crate::chain::Delivery;
use alloy::primitives::B256;

/// What one answer says about the call that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// The node has put the transaction into its pool. It can still drop it.
    Pooled,
    /// The transaction may be in the pool, in a block, or nowhere.
    Maybe,
    /// This call did not put it into the pool, and this is why.
    Not(Objection),
}

/// What the codes mean; whatever is not here is [`Meaning::Maybe`]. The second column is what the
/// message begins with; the first row that fits counts.
///
/// java-tron: framework/.../core/Wallet.java, `broadcastTransaction`. `CONTRACT_EXE_ERROR` and
/// `OTHER_ERROR` are left out on purpose: they also follow after the transaction was pooled.
const ANSWERS: [(&str, &str, Meaning); 13] = [
    ("SUCCESS", "", Meaning::Pooled),
    // Known here; or, with trxCacheEnable, once refused here.
    ("DUP_TRANSACTION_ERROR", "", Meaning::Maybe),
    // Pooled first, then handed to nobody.
    ("NOT_ENOUGH_EFFECTIVE_CONNECTION", "P2P broadcast failed.", Meaning::Maybe),
    ("NOT_ENOUGH_EFFECTIVE_CONNECTION", "Effective connection:", BUSY),
    ("NO_CONNECTION", "", BUSY),
    ("SERVER_BUSY", "", BUSY),
    ("BLOCK_UNSOLIDIFIED", "", BUSY),
    // The node lags behind the block that it builds on, or is on a fork.
    ("TAPOS_ERROR", "", BUSY),
    ("BANDWITH_ERROR", "", Meaning::Not(Objection::Starved)),
    // A permission may have changed, here only or everywhere.
    ("SIGERROR", "", Meaning::Not(Objection::Policy)),
    ("TOO_BIG_TRANSACTION_ERROR", "", Meaning::Not(Objection::Structural)),
    // Said of a transaction that is in a block, too: expiry is judged before duplicates are.
    ("TRANSACTION_EXPIRATION_ERROR", "", Meaning::Not(Objection::Policy)),
    ("CONTRACT_VALIDATE_ERROR", "", Meaning::Not(Objection::Policy)),
];

const BUSY: Meaning = Meaning::Not(Objection::Busy);

/// How a node says that it does not take broadcasts at all.
/// java-tron: framework/.../services/filter/HttpApiAccessFilter.java
const DISABLED: &str = "this API is unavailable due to config";

impl TronChain {
    /// Offers bytes that are on disk. Only [`crate::chain::Chain::deliver`] calls this.
    pub(super) async fn offer(&self, signed: &Signed) -> Delivery {
        judge(self.parts.api.broadcast(&signed.raw).await, signed.hash)
    }
}

/// What an answer to the offer of `ours` means.
pub(super) fn judge(said: Result<Broadcast, ApiError>, ours: B256) -> Delivery {
    let said = match said {
        Ok(said) => said,
        Err(error) => return unanswered(&error),
    };
    let words = format!("{}: {}", said.code, said.message);
    match said.txid {
        Some(id) if id == ours => {}
        Some(id) => return Delivery::Unknown(format!("the node names another transaction: {id}")),
        None => return Delivery::Unknown(format!("the node names no transaction; {words}")),
    }
    match (meaning(&said.code, &said.message), said.result) {
        (Meaning::Pooled, true) => Delivery::Accepted,
        (Meaning::Not(objection), false) => refused(objection, words),
        (Meaning::Maybe, _) | (Meaning::Pooled, false) | (_, true) => Delivery::Unknown(words),
    }
}

/// A server that has not looked at the question has not taken the bytes; of any other silence
/// nothing is known.
fn unanswered(error: &ApiError) -> Delivery {
    let words = error.to_string();
    match &error.fault {
        Fault::ShutOut { .. } | Fault::Http(404 | 413) => refused(Objection::Busy, words),
        Fault::Refused(said) if said == DISABLED => refused(Objection::Policy, words),
        Fault::Refused(_) | Fault::Lost(_) | Fault::Http(_) | Fault::Garbled => {
            Delivery::Unknown(words)
        }
    }
}

fn refused(objection: Objection, said: String) -> Delivery {
    Delivery::Refused { objection, said }
}

fn meaning(code: &str, message: &str) -> Meaning {
    ANSWERS
        .iter()
        .find(|(known, start, _)| *known == code && message.starts_with(start))
        .map_or(Meaning::Maybe, |(_, _, meaning)| *meaning)
}
