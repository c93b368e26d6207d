use super::*;
use ::node::NoReply;
use ::node::{AskError, Fault, NodeError};
use proptest::prelude::*;

const OURS: B256 = B256::ZERO;

fn fault(fault: Fault) -> NodeSaid {
    Err(AskError { question: "eth_sendRawTransaction", fault })
}

fn error(message: &str) -> NodeSaid {
    fault(Fault::Node(NodeError { code: -32000, message: message.to_owned(), data: None }))
}

fn delivery(said: &[NodeSaid], needed: usize) -> Delivery {
    let answers: Vec<_> = said.iter().map(|said| (read(said, OURS), words(said))).collect();
    together(&answers, needed)
}

fn rejection_by(said: &[NodeSaid]) -> Option<NodeRejection> {
    match delivery(said, 2) {
        Delivery::Refused { rejection, .. } => Some(rejection),
        Delivery::Accepted | Delivery::Unknown(_) => None,
    }
}

#[test]
fn one_node_that_has_it_is_enough_whatever_the_others_say() {
    for other in [
        error("nonce too low"),
        error("intrinsic gas too low"),
        error("the moon is full"),
        fault(Fault::Lost(NoReply::TimedOut)),
        Ok(B256::repeat_byte(1)),
    ] {
        assert_eq!(delivery(&[other.clone(), Ok(OURS)], 2), Delivery::Accepted, "{other:?}");
        assert_eq!(delivery(&[error("already known"), other], 2), Delivery::Accepted);
    }
}

#[test]
fn another_hash_than_ours_is_no_acceptance() {
    assert!(matches!(delivery(&[Ok(B256::repeat_byte(1))], 1), Delivery::Unknown(_)));
}

#[test]
fn a_node_that_may_have_taken_it_in_silence_leaves_it_open() {
    let silences = [
        Fault::Lost(NoReply::TimedOut),
        Fault::Lost(NoReply::Broken),
        Fault::Garbled,
        Fault::Lost(NoReply::TooLong),
        Fault::Http(502),
    ];
    for silence in silences {
        let said = [error("nonce too low"), fault(silence.clone())];
        assert!(matches!(delivery(&said, 2), Delivery::Unknown(_)), "{silence}");
    }
    for nothing in
        [Fault::Lost(NoReply::Refused), Fault::Lost(NoReply::NoConnection), Fault::NoNode]
    {
        let said = [error("nonce too low"), fault(nothing.clone())];
        assert_eq!(rejection_by(&said), Some(NodeRejection::NonceTaken), "{nothing}");
        assert!(matches!(delivery(&[fault(nothing)], 1), Delivery::Unknown(_)));
    }
    assert!(matches!(delivery(&[], 2), Delivery::Unknown(_)));
}

#[test]
fn what_is_said_of_the_transaction_outweighs_what_is_said_of_the_node() {
    let said = [error("txpool is full"), error("txpool is full"), error("transaction underpriced")];
    assert_eq!(rejection_by(&said), Some(NodeRejection::Underpriced));
    let said = [fault(Fault::Http(429)), error("method not found")];
    assert_eq!(rejection_by(&said), Some(NodeRejection::Policy));
    assert_eq!(rejection_by(&[fault(Fault::Http(429))]), Some(NodeRejection::Busy));
}

#[test]
fn one_node_alone_does_not_make_bytes_useless_where_two_are_configured() {
    let useless = error("intrinsic gas too low");
    assert_eq!(rejection_by(std::slice::from_ref(&useless)), Some(NodeRejection::Policy));
    assert_eq!(rejection_by(&[useless.clone(), useless.clone()]), Some(NodeRejection::Structural));
    let said = [useless.clone(), error("transaction underpriced")];
    assert_eq!(rejection_by(&said), Some(NodeRejection::Underpriced));
    let alone = delivery(&[useless], 1);
    assert!(matches!(alone, Delivery::Refused { rejection: NodeRejection::Structural, .. }));
}

proptest! {
    /// Accepted means that some node has it; nothing else makes it so.
    #[test]
    fn nothing_is_accepted_that_no_node_has(messages in prop::collection::vec(".{0,40}", 0..4)) {
        let said: Vec<NodeSaid> = messages.iter().map(|message| error(message)).collect();
        let has = said.iter().any(|said| read(said, OURS) == NodeAnswer::Has);
        prop_assert_eq!(delivery(&said, 2) == Delivery::Accepted, has);
    }
}
