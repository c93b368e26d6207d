//! Every recorded transaction, byte for byte.

use super::super::resources::bandwidth;
use super::approved::signed;
use super::*;
use crate::SealError;
use alloy::primitives::B256;
use billing::{Family, Signed, parse_address};
use proptest::prelude::*;
use prost::Message;
use sha2::{Digest, Sha256};
use signing::complete;
use tron_primitives::messages::{
    Any, Contract, Raw, TRIGGER, TRIGGER_URL, Transaction, TriggerSmartContract,
};
use tron_primitives::transaction::{RefBlock, SignedBytes, Unsigned};

#[derive(Clone, PartialEq, Eq, Message)]
struct CreateSmartContract {
    #[prost(bytes = "vec", tag = "1")]
    owner_address: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    new_contract: Option<SmartContract>,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct SmartContract {
    #[prost(bytes = "vec", tag = "1")]
    origin_address: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    bytecode: Vec<u8>,
    #[prost(int64, tag = "6")]
    consume_user_resource_percent: i64,
    #[prost(string, tag = "7")]
    name: String,
    #[prost(int64, tag = "8")]
    origin_energy_limit: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct TransferContract {
    #[prost(bytes = "vec", tag = "1")]
    owner_address: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    to_address: Vec<u8>,
    #[prost(int64, tag = "3")]
    amount: i64,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct FreezeBalanceV2Contract {
    #[prost(bytes = "vec", tag = "1")]
    owner_address: Vec<u8>,
    #[prost(int64, tag = "2")]
    frozen_balance: i64,
    #[prost(int32, tag = "3")]
    resource: i32,
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap_or_default()).unwrap()
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn vectors() -> Vec<Value> {
    recorded("vectors.json")["vectors"].as_array().unwrap().clone()
}

fn contract(vector: &Value) -> Contract {
    let value = &vector["value"];
    let owner_address = bytes(&value["owner_address"]);
    let kind = vector["contract_type"].as_str().unwrap();
    let (number, encoded) = match kind {
        "TriggerSmartContract" => {
            let call = TriggerSmartContract {
                owner_address,
                contract_address: bytes(&value["contract_address"]),
                call_value: whole(&value["call_value"]),
                data: bytes(&value["data"]),
            };
            (TRIGGER, call.encode_to_vec())
        }
        "CreateSmartContract" => {
            let new = &value["new_contract"];
            let name = new["name"].as_str().unwrap().to_owned();
            let artefact = recorded(&format!("contracts/{name}.json"));
            let bytecode = artefact["bytecode"].as_str().unwrap().trim_start_matches("0x");
            let new_contract = Some(SmartContract {
                origin_address: bytes(&new["origin_address"]),
                bytecode: hex::decode(bytecode).unwrap(),
                consume_user_resource_percent: whole(&new["consume_user_resource_percent"]),
                name,
                origin_energy_limit: whole(&new["origin_energy_limit"]),
            });
            (30, CreateSmartContract { owner_address, new_contract }.encode_to_vec())
        }
        "TransferContract" => {
            let to_address = bytes(&value["to_address"]);
            let amount = whole(&value["amount"]);
            (1, TransferContract { owner_address, to_address, amount }.encode_to_vec())
        }
        "FreezeBalanceV2Contract" => {
            let frozen_balance = whole(&value["frozen_balance"]);
            let resource = i32::from(value["resource"] == "ENERGY");
            let freeze = FreezeBalanceV2Contract { owner_address, frozen_balance, resource };
            (54, freeze.encode_to_vec())
        }
        other => panic!("{other}"),
    };
    let type_url = TRIGGER_URL.replace("TriggerSmartContract", kind);
    Contract {
        kind: number,
        parameter: Some(Any { type_url, value: encoded }),
        permission_id: i32::try_from(whole(&vector["permission_id"])).unwrap(),
    }
}

fn raw_data(vector: &Value) -> Vec<u8> {
    let raw = Raw {
        ref_block_bytes: bytes(&vector["ref_block_bytes"]),
        ref_block_hash: bytes(&vector["ref_block_hash"]),
        expiration: whole(&vector["expiration"]),
        data: vector["data_memo_utf8"].as_str().unwrap_or_default().as_bytes().to_vec(),
        contract: vec![contract(vector)],
        timestamp: whole(&vector["timestamp"]),
        fee_limit: whole(&vector["fee_limit"]),
    };
    raw.encode_to_vec()
}

pub(super) fn sign(unsigned: &Unsigned, key: &Key) -> Result<Signed, SealError> {
    let raw_data = unsigned.raw_data().unwrap();
    let (signature, digest) = signed(raw_data.clone(), key);
    complete(unsigned, raw_data, &signature, digest)
}

/// Signs as a client has to, whatever the transaction is.
fn canonical(vector: &Value, raw_data: Vec<u8>) -> Option<Vec<u8>> {
    let key = key(vector["signer_private_key"].as_str()?);
    Some(signed(raw_data, &key).0.as_bytes().to_vec())
}

#[test]
fn every_recorded_transaction_is_reproduced() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 114);
    let mut signed = 0;
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        let raw = raw_data(vector);
        match vector["raw_data_hex"].as_str() {
            Some(hex) => assert_eq!(hex::encode(&raw), hex, "{name}"),
            None => {
                assert_eq!(whole(&vector["raw_data_length"]), i64::try_from(raw.len()).unwrap());
            }
        }
        let txid = B256::from(<[u8; 32]>::from(Sha256::digest(&raw)));
        assert_eq!(hex::encode(txid), vector["txid"].as_str().unwrap(), "{name}");
        let Some(signature) = canonical(vector, raw.clone()) else { continue };
        assert_eq!(hex::encode(&signature), vector["canonical_signature"].as_str().unwrap());
        let sent =
            Transaction { raw_data: raw, signature: vec![signature], ret: vec![] }.encode_to_vec();
        if let Some(hex) = vector["transaction_hex"].as_str() {
            assert_eq!(hex::encode(&sent), hex, "{name}");
        }
        signed += 1;
    }
    assert_eq!(signed, 108, "all but the six that two keys signed");
}

/// The transaction as the product makes it, if it could make this one.
fn unsigned(vector: &Value) -> Option<Unsigned> {
    let value = &vector["value"];
    let plain = vector["contract_type"] == "TriggerSmartContract"
        && value.get("call_value").is_none()
        && vector.get("data_memo_utf8").is_none()
        && vector.get("permission_id").is_none();
    let address = |value: &Value| parse_address(Family::Tvm, value.as_str()?).ok();
    let number = |value: &Value| u64::try_from(whole(value)).ok();
    let low = bytes(&vector["ref_block_bytes"]).try_into().unwrap();
    let hash = bytes(&vector["ref_block_hash"]).try_into().unwrap();
    plain.then_some(())?;
    Some(Unsigned {
        owner: address(&value["owner_address"])?,
        contract: address(&value["contract_address"])?,
        data: bytes(&value["data"]),
        ref_block: RefBlock { low: u16::from_be_bytes(low), hash },
        expiration_ms: number(&vector["expiration"])?,
        timestamp_ms: number(&vector["timestamp"])?,
        fee_limit: number(&vector["fee_limit"])?,
    })
}

#[test]
fn a_recorded_call_is_built_signed_and_read_back() {
    let mut built = 0;
    for vector in &vectors() {
        let Some(unsigned) = unsigned(vector) else { continue };
        let name = vector["name"].as_str().unwrap();
        if let Some(hex) = vector["raw_data_hex"].as_str() {
            assert_eq!(hex::encode(unsigned.raw_data().unwrap()), hex, "{name}");
        }
        let Some(hex) = vector["signer_private_key"].as_str() else { continue };
        let key = key(hex);
        if key.address() != unsigned.owner {
            assert!(sign(&unsigned, &key).is_err(), "{name}: somebody else's key");
            continue;
        }
        let signed = sign(&unsigned, &key).unwrap();
        assert_eq!(hex::encode(signed.hash), vector["txid"].as_str().unwrap(), "{name}");
        assert_eq!(signed.gas_required, unsigned.fee_limit);
        if let Some(hex) = vector["transaction_hex"].as_str() {
            assert_eq!(hex::encode(&signed.raw), hex, "{name}");
        }
        let signature = vector["canonical_signature"].as_str().unwrap();
        assert!(hex::encode(&signed.raw).ends_with(signature), "{name}");
        assert_eq!(unsigned.signed_size(), Ok(signed.raw.len()));
        if vector.get("signatures_sent").is_none() {
            let charged = vector["bandwidth_bytes_charged"].as_u64().unwrap();
            assert_eq!(bandwidth(signed.raw.len()), charged, "{name}");
        }
        let read = SignedBytes::read(&signed.raw).unwrap();
        assert_eq!((&read.unsigned, read.txid), (&unsigned, signed.hash), "{name}");
        assert_eq!(read.signer(), Some(unsigned.owner));
        built += 1;
    }
    assert!(built >= 80, "{built}");
}

#[test]
fn the_reference_is_taken_from_the_id_alone() {
    let wrong = ["tapos_wrong_hash", "tapos_other_block", "tapos_future", "json_wrong_tapos"];
    for vector in &vectors() {
        let name = vector["name"].as_str().unwrap();
        let id: B256 = vector["ref_block_id"].as_str().unwrap().parse().unwrap();
        let reference = RefBlock::to(id);
        let same = hex::encode(reference.low.to_be_bytes()) == vector["ref_block_bytes"]
            && hex::encode(reference.hash) == vector["ref_block_hash"];
        assert_eq!(same, !wrong.contains(&name), "{name}");
        assert!(reference.is(id));
    }
}

/// What nodes take beyond what we write is none of ours, and is not read as if it were.
#[test]
fn bytes_that_are_not_ours_are_not_read() {
    let plain =
        |vector: &&Value| unsigned(vector).is_some() && vector.get("transaction_hex").is_some();
    let vector = vectors().iter().find(plain).unwrap().clone();
    let good = bytes(&vector["transaction_hex"]);
    assert!(SignedBytes::read(&good).is_ok());
    for cut in 0..good.len() {
        assert!(SignedBytes::read(&good[..cut]).is_err(), "{cut}");
    }
    let longer = [&good[..], &[0]].concat();
    assert!(SignedBytes::read(&longer).is_err());
    let with_result = [&good[..], &[0x2a, 0x02, 0x18, 0x01]].concat();
    assert!(SignedBytes::read(&with_result).is_err(), "ret is not ours");
    let rebuilt = |change: fn(&mut Transaction, &mut Raw)| {
        let mut tx = Transaction::decode(good.as_slice()).unwrap();
        let mut raw = Raw::decode(tx.raw_data.as_slice()).unwrap();
        change(&mut tx, &mut raw);
        tx.raw_data = raw.encode_to_vec();
        SignedBytes::read(&tx.encode_to_vec()).is_ok()
    };
    assert!(rebuilt(|_, _| {}));
    assert!(!rebuilt(|_, raw| raw.data = b"memo".to_vec()));
    assert!(!rebuilt(|_, raw| raw.contract[0].permission_id = 2));
    assert!(!rebuilt(|_, raw| raw.contract[0].kind = 1));
    assert!(!rebuilt(|_, raw| raw.contract.clear()));
    assert!(
        !rebuilt(|_, raw| raw.contract = [raw.contract.clone(), raw.contract.clone()].concat())
    );
    assert!(!rebuilt(|_, raw| raw.expiration = -1));
    assert!(!rebuilt(|tx, _| tx.signature.clear()));
    assert!(!rebuilt(|tx, _| tx.signature[0].truncate(64)));
    assert!(!rebuilt(|tx, _| tx.signature[0][64] = 0));
    assert!(!rebuilt(|tx, _| tx.signature[0][64] = 29));
    assert!(!rebuilt(|tx, _| tx.signature = [tx.signature.clone(), tx.signature.clone()].concat()));
}

#[test]
fn high_s_is_not_ours() {
    let forms = recorded("11_signature_forms.json");
    let sent = forms["steps"].as_array().unwrap().iter();
    let high = sent.filter(|step| step["at"].as_str().unwrap().contains("high s"));
    let bodies = high.filter_map(|step| step["request"]["body"]["transaction"].as_str());
    let mut seen = 0;
    for body in bodies {
        assert!(SignedBytes::read(&hex::decode(body).unwrap()).is_err());
        seen += 1;
    }
    assert!(seen > 0);
}

fn any_unsigned() -> impl Strategy<Value = Unsigned> {
    let numbers = (0..1_u64 << 62, 0..1_u64 << 62, 0..1_u64 << 62);
    let data = prop::collection::vec(any::<u8>(), 0..300);
    (any::<([u8; 20], u16, [u8; 8])>(), data, numbers).prop_map(
        |((contract, low, hash), data, n)| Unsigned {
            owner: Address::repeat_byte(1),
            contract: contract.into(),
            data,
            ref_block: RefBlock { low, hash },
            expiration_ms: n.0,
            timestamp_ms: n.1,
            fee_limit: n.2,
        },
    )
}

proptest! {
    #[test]
    fn what_is_signed_is_what_is_read(unsigned in any_unsigned()) {
        let key = key(&"07".repeat(32));
        let unsigned = Unsigned { owner: key.address(), ..unsigned };
        let signed = sign(&unsigned, &key).unwrap();
        prop_assert_eq!(&sign(&unsigned, &key).unwrap(), &signed, "the same bytes every time");
        prop_assert_eq!(unsigned.signed_size(), Ok(signed.raw.len()));
        let read = SignedBytes::read(&signed.raw).unwrap();
        prop_assert_eq!(read.signer(), Some(key.address()));
        prop_assert_eq!((read.unsigned, read.txid), (unsigned, signed.hash));
    }

    #[test]
    fn no_bytes_at_all_make_reading_panic(raw in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(SignedBytes::read(&raw).is_err());
    }

    #[test]
    fn the_block_is_among_the_numbers_that_fit(number: u64, later: u64, id: [u8; 32]) {
        let mut id = B256::from(id);
        id.0[..8].copy_from_slice(&number.to_be_bytes());
        let height = number.saturating_add(later % 0x2_0000);
        let numbers: Vec<u64> = RefBlock::to(id).numbers(height).take(3).collect();
        prop_assert!(numbers.contains(&number));
        prop_assert!(numbers.iter().all(|n| *n <= height && (n ^ number).trailing_zeros() >= 16));
        prop_assert!(height - numbers[0] < 0x1_0000, "the highest first");
        if later % 0x2_0000 < 0x1_0000 {
            prop_assert_eq!(numbers[0], number);
        }
    }
}

#[test]
fn a_block_above_the_height_has_no_number() {
    let reference = RefBlock { low: 100, hash: [0; 8] };
    assert_eq!(reference.numbers(99).next(), None);
    assert_eq!(reference.numbers(100).collect::<Vec<_>>(), [100]);
    assert_eq!(reference.numbers(65_636).collect::<Vec<_>>(), [65_636, 100]);
}
