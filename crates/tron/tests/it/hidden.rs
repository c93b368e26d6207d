//! A transaction that is hidden behind a node of its block's tree: two leaves beside each other may parse as a message.

use crate::forge::{FIRST_MS, Site, account, block, leaf, sha, transaction};
use alloy::primitives::{B256, Bytes};
use tron_primitives::answer::{BlockAnswer, TransactionAnswer};
use tron_primitives::block::Unproven;

/// Its leaf begins as a message with 62 bytes of raw data does. Anybody finds one in 65,536 tries.
const NEIGHBOUR: u64 = 62_938;

#[test]
fn no_transaction_can_be_hidden_behind_a_node_of_the_tree() {
    let (ours, other) = (transaction(7, "SUCCESS"), transaction(9, "SUCCESS"));
    let neighbour = transaction(NEIGHBOUR, "SUCCESS");
    assert_eq!(leaf(&neighbour)[..2], [0x0a, 62]);
    let parent = B256::repeat_byte(1);
    let site = Site { number: 100, time_ms: FIRST_MS, parent, witness: account(1), signer: 1 };
    let honest = block(site, vec![neighbour.clone(), ours.clone(), other.clone()]);
    assert!(honest.clone().prove().unwrap().transaction(ours.tx_id).is_some());

    let node = [leaf(&neighbour).0, leaf(&ours).0].concat();
    let raw = Bytes::from(node[2..].to_vec());
    let (tx_id, signature, ret) = (sha(&raw), vec![], vec![]);
    let forged = TransactionAnswer { tx_id, raw_data_hex: raw, signature, ret };
    let lying = BlockAnswer { transactions: vec![forged, other], ..honest };
    assert_eq!(lying.clone().prove(), Err(Unproven::Root));
    assert_eq!(lying.path(tx_id), Err(Unproven::Root));
}
