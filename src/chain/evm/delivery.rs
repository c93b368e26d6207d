//! Offering committed bytes to a node, and what its answer means.
//!
//! No answer proves that the transaction cannot land: refusals only choose what to do next.

use super::EvmChain;
use crate::billing::Signed;
use crate::chain::Delivery;
use crate::chain::fleet::Said;
use crate::chain::rpc::{Fault, RpcError};
use alloy::primitives::B256;

/// How nodes say that they hold the transaction, in lower case, from the start of the message.
const HELD: [&str; 5] = [
    "already known",     // geth, core/txpool/errors.go; reth; erigon; nethermind
    "known transaction", // besu; old geth
    "transaction already imported", // anvil
    "existing txn with same hash", // old erigon
    "alreadyknown",      // old nethermind
];

impl EvmChain {
    /// Offers bytes that are on disk. Only [`crate::chain::Chain::deliver`] calls this.
    pub(super) async fn offer(&self, signed: &Signed) -> Delivery {
        let hash = signed.hash;
        let accepts = move |_, said: &Said| matches!(read(said.clone(), hash), Delivery::Accepted);
        let said = self.parts.fleet.broadcast(&signed.raw, accepts).await;
        let mut read = said.into_iter().map(|(_, said)| read(said, hash));
        let none = Delivery::Unknown("no node answered in time".to_owned());
        read.next_back().unwrap_or(none)
    }
}

fn read(said: Result<B256, RpcError>, ours: B256) -> Delivery {
    match said {
        Ok(hash) if hash == ours => Delivery::Accepted,
        Ok(hash) => Delivery::Unknown(format!("the node names another transaction: {hash}")),
        Err(RpcError { fault: Fault::Node(error), .. }) => {
            let message = error.message.to_ascii_lowercase();
            if is_held(&message) {
                Delivery::Accepted
            } else {
                Delivery::Refused(error.to_string())
            }
        }
        Err(error) => Delivery::Unknown(error.to_string()),
    }
}

fn is_held(message: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
    HELD.iter().any(|start| message.strip_prefix(start).is_some_and(ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::rpc::NodeError;

    fn refused(message: &str) -> Delivery {
        let error = NodeError { code: -32000, message: message.to_owned(), data: None };
        let fault = Fault::Node(error);
        read(Err(RpcError { method: "eth_sendRawTransaction", fault }), B256::ZERO)
    }

    #[test]
    fn a_node_holds_a_transaction_only_when_it_says_so() {
        assert_eq!(read(Ok(B256::ZERO), B256::ZERO), Delivery::Accepted);
        for held in ["already known", "Known transaction: 0xab", "transaction already imported"] {
            assert_eq!(refused(held), Delivery::Accepted, "{held}");
        }
        for not in
            ["unknown transaction", "nonce too low", "already knowns", "", "not already known"]
        {
            assert_ne!(refused(not), Delivery::Accepted, "{not}");
        }
        assert_eq!(
            refused("nonce too low"),
            Delivery::Refused("nonce too low (code -32000)".to_owned())
        );
    }

    #[test]
    fn everything_that_is_neither_is_unknown() {
        let faults = [
            Fault::Refused,
            Fault::NoConnection,
            Fault::TimedOut,
            Fault::Broken,
            Fault::Http(503),
            Fault::TooLong,
            Fault::Garbled,
        ];
        for fault in faults {
            let error = RpcError { method: "eth_sendRawTransaction", fault };
            assert!(matches!(read(Err(error), B256::ZERO), Delivery::Unknown(_)));
        }
        let other = read(Ok(B256::repeat_byte(1)), B256::ZERO);
        assert!(matches!(other, Delivery::Unknown(_)));
    }
}
