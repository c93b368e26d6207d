//! The results of a transaction, of which whoever relays it fills in all but one word.

use crate::forge::{FIRST_MS, Site, account, block, key, sha, signed, transaction};
use alloy::primitives::B256;
use serde_json::{Value, json};
use tron_primitives::answer::{BlockAnswer, HeaderAnswer, RetAnswer};
use tron_primitives::block::{ProvenHeader, Unproven};
use tron_primitives::result::{ContractResult, Ending};
use tron_primitives::unjudged::Judgement;

/// One number of each kind and length.
const BIG: i64 = 300;

fn site() -> Site {
    let parent = B256::repeat_byte(1);
    Site { number: 100, time_ms: FIRST_MS, parent, witness: account(1), signer: 1 }
}

fn ret(word: &str, code: &str) -> RetAnswer {
    RetAnswer { contract_ret: word.to_owned(), ret: code.to_owned(), ..RetAnswer::default() }
}

fn judged(block: BlockAnswer) -> Judgement {
    block.judge_by(tron_primitives::block::recover).unwrap()
}

fn unjudged(block: BlockAnswer) -> (ProvenHeader, Unproven) {
    match judged(block) {
        Judgement::Unjudged { header, why } => (header, why),
        Judgement::Proven(block) => panic!("{block:?}"),
    }
}

/// Each of these was put beside the word by whoever relayed the transaction.
#[test]
fn the_word_of_the_first_result_alone_is_the_ending() {
    let (success, revert) = (Ending::Succeeded, Ending::Failed(ContractResult::Revert));
    let rows = [
        (vec![ret("SUCCESS", "FAILED")], success),
        (vec![ret("REVERT", "")], revert),
        (vec![ret("SUCCESS", ""), ret("REVERT", "FAILED")], success),
        (vec![ret("REVERT", ""), ret("SUCCESS", "")], revert),
        (vec![ret("", "FAILED"), ret("SUCCESS", "")], Ending::Untold),
        (vec![], Ending::Untold),
    ];
    for (rets, ending) in rows {
        let mut ours = transaction(7, "SUCCESS");
        ours.ret = rets;
        let proven = block(site(), vec![ours.clone()]).prove().unwrap();
        assert_eq!(proven.transactions()[0].ending(), ending, "{:?}", ours.ret);
    }
}

/// The bytes of a field: a number of at most 14 bits that does not fit into 7, or a text.
fn number(tag: u8) -> Vec<u8> {
    let [low, high] = [(BIG & 0x7f) | 0x80, BIG >> 7].map(|part| u8::try_from(part).unwrap());
    match tag {
        1..16 => vec![tag << 3, low, high],
        _ => vec![((tag & 0x0f) << 3) | 0x80, tag >> 4, low, high],
    }
}

fn bytes(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let head = match tag {
        1..16 => vec![(tag << 3) | 2],
        _ => vec![((tag & 0x0f) << 3) | 0x82, tag >> 4],
    };
    [head, vec![length], content.to_vec()].concat()
}

/// Every field of `Transaction.Result` but its map, as a node writes it.
fn filled() -> (Value, Vec<u8>) {
    let told = json!({
        "fee": BIG, "ret": "UNKNOWN_ENUM_VALUE_code_300", "contractRet": "SUCCESS", "assetIssueID": "1000001",
        "withdraw_amount": BIG, "unfreeze_amount": BIG, "exchange_received_amount": BIG,
        "exchange_inject_another_amount": BIG, "exchange_withdraw_another_amount": BIG, "exchange_id": BIG,
        "shielded_transaction_fee": BIG, "orderId": "0102", "withdraw_expire_amount": BIG,
        "orderDetails": [
            { "makerOrderId": "03", "takerOrderId": "04", "fillSellQuantity": BIG, "fillBuyQuantity": BIG }, {},
        ],
    });
    let detail = [bytes(1, &[3]), bytes(2, &[4]), number(3), number(4)].concat();
    let fields = [
        number(1),
        number(2),
        vec![3 << 3, 1],
        bytes(14, b"1000001"),
        number(15),
        number(16),
        number(18),
        number(19),
        number(20),
        number(21),
        number(22),
        bytes(25, &[1, 2]),
        bytes(26, &detail),
        bytes(26, &[]),
        number(27),
    ];
    (told, fields.concat())
}

#[test]
fn a_stranger_who_fills_in_every_field_makes_no_block_unprovable() {
    let (told, written) = filled();
    let mut stranger = transaction(7, "SUCCESS");
    stranger.ret = serde_json::from_value(json!([told])).unwrap();
    let message =
        [bytes(1, &stranger.raw_data_hex), bytes(2, &stranger.signature[0]), bytes(5, &written)];
    let raw = HeaderAnswer { tx_trie_root: sha(&message.concat()), ..header() };
    let proven = signed(raw.clone(), vec![stranger.clone()], &key(1)).prove().unwrap();
    assert_eq!(proven.transactions()[0].ending(), Ending::Succeeded);

    // Each field is under the root.
    let fields = told.as_object().unwrap();
    for name in fields.keys() {
        let mut less = told.clone();
        less.as_object_mut().unwrap().remove(name);
        stranger.ret = serde_json::from_value(json!([less])).unwrap();
        let lying = signed(raw.clone(), vec![stranger.clone()], &key(1));
        assert_eq!(lying.prove(), Err(Unproven::Root), "{name}");
    }
}

fn header() -> HeaderAnswer {
    block(site(), vec![]).block_header.raw_data
}

#[test]
fn a_block_with_an_unknown_field_or_word_is_read_and_not_judged() {
    let honest = block(site(), vec![transaction(7, "SUCCESS"), transaction(8, "REVERT")]);
    let id = honest.block_id;
    assert!(matches!(judged(honest.clone()), Judgement::Proven(_)));

    // The map of `Transaction.Result`, and a field of a later java-tron.
    let field = json!([{ "contractRet": "SUCCESS", "cancel_unfreezeV2_amount": [{}], "29": [1] }]);
    let mut later = honest.clone();
    later.block_header.raw_data.tx_trie_root = B256::repeat_byte(5);
    later = signed(later.block_header.raw_data, later.transactions, &key(1));
    later.transactions[0].ret = serde_json::from_value(field).unwrap();
    let (header, why) = unjudged(later.clone());
    assert_eq!((why, header.id()), (Unproven::Root, later.block_id));

    let mut word = honest;
    word.transactions[0].ret[0].contract_ret = "OF_A_LATER_NODE".to_owned();
    let (header, why) = unjudged(word);
    assert_eq!((why, header.id()), (Unproven::Word("OF_A_LATER_NODE".to_owned()), id));

    // A false id is a lie, whatever the block is.
    later.transactions[1].tx_id = B256::repeat_byte(9);
    let said = later.judge_by(tron_primitives::block::recover);
    assert_eq!(said, Err(Unproven::Transaction(B256::repeat_byte(9))));
}
