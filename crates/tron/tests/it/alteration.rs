//! Whatever is changed in a block on its way, it is noticed, and the step that failed is named.

use crate::forge::{FIRST_MS, Site, account, block, key, sha, signed, transaction};
use alloy::primitives::{B256, Bytes};
use proptest::prelude::*;
use tron_primitives::answer::{BlockAnswer, HeaderAnswer, RetAnswer};
use tron_primitives::block::{ProvenTransaction, Unproven, merkle_root};
use tron_primitives::result::{ContractResult, Ending};

const WORDS: [&str; 3] = ["SUCCESS", "REVERT", ""];

fn site() -> Site {
    let mut parent = sha(b"parent");
    parent[..8].copy_from_slice(&6_u64.to_be_bytes());
    Site { number: 7, time_ms: FIRST_MS, parent, witness: account(1), signer: 1 }
}

fn with(transactions: usize) -> BlockAnswer {
    let words = WORDS.iter().cycle();
    let all = (0..).zip(words).take(transactions).map(|(seed, word)| transaction(seed, word));
    block(site(), all.collect())
}

fn fault(block: BlockAnswer) -> Unproven {
    block.prove().unwrap_err()
}

#[test]
fn a_true_block_proves_itself_with_all_that_is_in_it() {
    for count in 0..9 {
        let block = with(count).prove().unwrap();
        assert_eq!(block.transactions().len(), count);
        assert_eq!(block.header().producer().witness, account(1));
        assert_eq!(block.header().producer().signer, account(1));
    }
    let block = with(3).prove().unwrap();
    let endings: Vec<_> = block.transactions().iter().map(ProvenTransaction::ending).collect();
    assert_eq!(
        endings,
        [Ending::Succeeded, Ending::Failed(ContractResult::Revert), Ending::Untold]
    );
}

#[test]
fn transactions_that_are_hidden_added_swapped_or_repeated_are_missed() {
    let block = with(5);
    let hidden = BlockAnswer { transactions: vec![], ..block.clone() };
    assert_eq!(fault(hidden.clone()), Unproven::Root);
    let mut zeroed = hidden;
    zeroed.block_header.raw_data.tx_trie_root = B256::ZERO;
    assert_eq!(fault(zeroed), Unproven::Id, "the id commits to the root");
    for gone in 0..5 {
        let mut block = block.clone();
        block.transactions.remove(gone);
        assert_eq!(fault(block), Unproven::Root);
    }
    let mut more = block.clone();
    more.transactions.push(transaction(99, "SUCCESS"));
    assert_eq!(fault(more), Unproven::Root);
    let mut swapped = block.clone();
    swapped.transactions.swap(1, 2);
    assert_eq!(fault(swapped), Unproven::Root);
    let mut repeated = block;
    repeated.transactions.push(repeated.transactions[4].clone());
    assert_eq!(fault(repeated), Unproven::Root, "an odd one is not doubled");
}

#[test]
fn another_result_is_another_block() {
    let block = with(3);
    let ret = |contract_ret: &str, ret: &str, fee| RetAnswer {
        contract_ret: contract_ret.to_owned(),
        ret: ret.to_owned(),
        fee,
        ..RetAnswer::default()
    };
    let lies = [
        vec![ret("REVERT", "", 0)],
        vec![ret("OUT_OF_TIME", "", 0)],
        vec![ret("SUCCESS", "FAILED", 0)],
        vec![ret("SUCCESS", "", 1)],
        vec![ret("", "", 0)],
        vec![],
        vec![ret("SUCCESS", "", 0), ret("SUCCESS", "", 0)],
    ];
    for lie in lies {
        let mut block = block.clone();
        block.transactions[0].ret = lie;
        assert_eq!(fault(block), Unproven::Root);
    }
    let mut unknown = block;
    unknown.transactions[0].ret = vec![ret("MAYBE", "", 0)];
    assert_eq!(fault(unknown), Unproven::Word("MAYBE".to_owned()));
}

#[test]
fn a_transaction_goes_by_the_id_of_its_bytes() {
    let mut block = with(3);
    block.transactions[1].tx_id = B256::repeat_byte(7);
    assert_eq!(fault(block), Unproven::Transaction(B256::repeat_byte(7)));
}

#[test]
fn a_header_needs_a_witness_and_a_signature() {
    let mut block = with(1);
    let raw = HeaderAnswer {
        witness_address: Bytes::from_static(b"a text, as in block 0"),
        ..block.block_header.raw_data.clone()
    };
    assert_eq!(fault(signed(raw, vec![], &key(1))), Unproven::Witness);
    block.block_header.witness_signature = Bytes::new();
    assert_eq!(fault(block.clone()), Unproven::Signature);
    block.block_header.witness_signature = vec![9; 65].into();
    assert_eq!(fault(block), Unproven::Signature);
    let raw = HeaderAnswer { number: u64::MAX, ..with(1).block_header.raw_data };
    let mut far = with(1);
    far.block_header.raw_data = raw;
    assert_eq!(fault(far), Unproven::Range);
}

#[test]
fn whoever_signs_another_header_is_another_producer() {
    let honest = with(2);
    let emptied = HeaderAnswer { tx_trie_root: B256::ZERO, ..honest.block_header.raw_data };
    let made_up = signed(emptied, vec![], &key(66)).prove().unwrap();
    assert_eq!(made_up.header().producer().witness, account(1), "it names whom it likes");
    assert_eq!(made_up.header().producer().signer, account(66), "but cannot sign for him");
}

#[test]
fn an_odd_last_leaf_is_carried_up_as_it_is() {
    let leaves: Vec<B256> = (1..=5).map(B256::repeat_byte).collect();
    let pair = |left: B256, right: B256| sha(&[left.0, right.0].concat());
    let four = pair(pair(leaves[0], leaves[1]), pair(leaves[2], leaves[3]));
    assert_eq!(merkle_root(leaves.clone()), pair(four, leaves[4]));
    assert_eq!(merkle_root(leaves[..1].to_vec()), leaves[0]);
    assert_eq!(merkle_root(vec![]), B256::ZERO);
}

/// One place of an answer, to be changed by one bit.
#[derive(Clone, Copy, Debug)]
enum Target {
    Id,
    Parent,
    Root,
    Witness,
    Signature,
    Number,
    Time,
    Version,
    WitnessId,
    RawData,
    TransactionSignature,
    TransactionId,
}

const TARGETS: [Target; 12] = [
    Target::Id,
    Target::Parent,
    Target::Root,
    Target::Witness,
    Target::Signature,
    Target::Number,
    Target::Time,
    Target::Version,
    Target::WitnessId,
    Target::RawData,
    Target::TransactionSignature,
    Target::TransactionId,
];

fn flip(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = bit / 8 % bytes.len();
    bytes[at] ^= 1 << (bit % 8);
    bytes
}

fn alter(block: &mut BlockAnswer, target: Target, bit: usize) {
    let header = &mut block.block_header;
    let raw = &mut header.raw_data;
    let place = bit % block.transactions.len();
    let one = &mut block.transactions[place];
    match target {
        Target::Id => block.block_id = B256::from_slice(&flip(&block.block_id.0, bit)),
        Target::Parent => raw.parent_hash = B256::from_slice(&flip(&raw.parent_hash.0, bit)),
        Target::Root => raw.tx_trie_root = B256::from_slice(&flip(&raw.tx_trie_root.0, bit)),
        Target::Witness => raw.witness_address = flip(&raw.witness_address, bit).into(),
        Target::Signature => {
            header.witness_signature = flip(&header.witness_signature, bit).into();
        }
        Target::Number => raw.number ^= 1 << (bit % 63),
        Target::Time => raw.timestamp ^= 1 << (bit % 63),
        Target::Version => raw.version ^= 1 << (bit % 31),
        Target::WitnessId => raw.witness_id ^= 1 << (bit % 63),
        Target::RawData => one.raw_data_hex = flip(&one.raw_data_hex, bit).into(),
        Target::TransactionSignature => one.signature[0] = flip(&one.signature[0], bit).into(),
        Target::TransactionId => one.tx_id = B256::from_slice(&flip(&one.tx_id.0, bit)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_changed_bit_is_noticed(count in 1_usize..6, which in 0_usize..12, bit in 0_usize..4096) {
        let honest = with(count);
        let producer = honest.prove_header().unwrap().producer();
        let mut altered = honest.clone();
        alter(&mut altered, TARGETS[which], bit);
        prop_assert_ne!(&altered, &honest);
        // A changed signature is still somebody's, but not the producer's.
        if let Ok(block) = altered.prove() {
            prop_assert!(matches!(TARGETS[which], Target::Signature));
            prop_assert_ne!(block.header().producer(), producer);
        }
    }
}
