//! Both verifiers refuse an altered certificate: a byte by accident, or a field by somebody who makes
//! the digest anew.

use crate::elsewhere::verified;
use crate::made::{of_evm, of_tvm};
use alloy::primitives::B256;
use certificate::form::Certificate;
use serde_json::{Value, json};

/// The number of certificates that the verifiers are asked about: `CERTIFICATES`, or 100.
#[expect(
    clippy::disallowed_methods,
    reason = "how much is asked is said by whoever runs the tests"
)]
fn wanted() -> usize {
    std::env::var("CERTIFICATES").map_or(100, |number| number.parse().unwrap())
}

/// Some of them, whose every byte and field is altered: two of each chain, and two more for each thousand.
fn some() -> Vec<(B256, String)> {
    let more = u64::try_from(wanted() / 1_000).unwrap();
    let made = (0..2 + more).flat_map(|size| [of_evm(1 + 19 * size), of_tvm(1 + 8 * size)]);
    let of = |all: Vec<Certificate>| {
        let one = all.last().unwrap();
        (one.block(), one.text())
    };
    made.map(of).collect()
}

fn is_valid(text: &[u8], trusted: B256) -> bool {
    let text = std::str::from_utf8(text).ok();
    let read = text.and_then(|text| Certificate::read(text).ok());
    read.is_some_and(|read| read.verify(trusted).is_ok())
}

#[test]
fn the_verifiers_agree_on_true_certificates() {
    let wanted = wanted();
    let of_tvm = (40..).flat_map(of_tvm).take(wanted * 2 / 5);
    let all: Vec<_> = (60..).flat_map(of_evm).take(wanted - wanted * 2 / 5).chain(of_tvm).collect();
    let asked: Vec<(B256, String)> = all.iter().map(|one| (one.block(), one.text())).collect();
    let said = verified(asked.iter().map(|(block, text)| (*block, text.as_bytes())));
    assert_eq!(said, vec![true; wanted]);
    let strangers = asked.iter().map(|(_, text)| (B256::ZERO, text.as_bytes()));
    assert_eq!(verified(strangers), vec![false; wanted]);
}

/// Each byte is changed in two ways, and some are left out.
#[test]
fn each_changed_byte_is_refused() {
    let mut refused = 0;
    for (block, text) in some() {
        let mut altered: Vec<Vec<u8>> = vec![];
        for at in 0..text.len() {
            for bit in [0, 5] {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                altered.push(bytes);
            }
            if at % 16 == 0 {
                let mut shorter = text.clone().into_bytes();
                shorter.remove(at);
                altered.push(shorter);
            }
        }
        refused += altered.len();
        assert!(altered.iter().all(|one| !is_valid(one, block)));
        // Python is asked about some: it looks at the digest before anything costs time.
        let asked = altered.iter().step_by(7);
        assert!(verified(asked.map(|one| (block, one.as_slice()))).iter().all(|valid| !valid));
    }
    assert!(refused > 30_000, "{refused}");
}

/// The places of all values in a certificate.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                places(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push(at.to_owned());
        }
    }
}

/// The same certificate with a digest that fits.
pub(crate) fn with_digest(mut told: Value) -> String {
    use sha2::Digest as _;
    told.as_object_mut().unwrap().remove("digest");
    let digest = sha2::Sha256::digest(told.to_string());
    told["digest"] = json!(B256::from_slice(&digest));
    told.to_string()
}

/// Values that somebody may put in the place of one, each of another kind of lie.
fn lies(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut lies: Vec<Value> =
                vec![json!(""), json!(format!("{text}0")), json!(null), json!(1)];
            for at in (0..text.len()).step_by(text.len() / 24 + 1) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
                lies.extend(String::from_utf8(bytes).ok().map(Value::from));
            }
            lies
        }
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            vec![
                json!(number + 1),
                json!(0.5),
                json!(true),
                json!("1"),
                json!(number.wrapping_sub(1)),
            ]
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => vec![json!(1)],
    }
}

/// Fields that only the journal states. On TRON the network is one of them. Signatures, and the newest header, on which
/// nothing stands, show another producer when they are altered: the reader's list of witnesses decides on producers.
fn is_stated(place: &str, newest: &str) -> bool {
    let of_tvm = !newest.is_empty()
        && (place == "/network" || place.ends_with("/signature") || place.starts_with(newest));
    let of_journal = place.starts_with("/claim/") && place != "/claim/contract";
    of_tvm || of_journal || place == "/history" || place == "/digest"
}

#[test]
fn each_changed_field_is_refused_by_what_it_rests_on() {
    for (block, text) in some() {
        let honest: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(with_digest(honest.clone()), text);
        let headers = honest.pointer("/proof/tvm/headers").and_then(Value::as_array);
        let newest = headers.map(|all| format!("/proof/tvm/headers/{}", all.len() - 1));
        let newest = newest.unwrap_or_default();
        let mut found = vec![];
        places(&honest, "", &mut found);
        let mut asked: Vec<String> = vec![];
        for place in found.iter().filter(|place| !is_stated(place, &newest)) {
            for lie in lies(honest.pointer(place).unwrap()) {
                let mut altered = honest.clone();
                *altered.pointer_mut(place).unwrap() = lie;
                let altered = with_digest(altered);
                assert!(!is_valid(altered.as_bytes(), block), "{place}: {altered}");
                asked.push(altered);
            }
        }
        let said = verified(asked.iter().map(|text| (block, text.as_bytes())));
        let wrong = said.iter().zip(&asked).find(|(valid, _)| **valid);
        assert_eq!(wrong, None);
        assert_eq!(said.len(), asked.len());
    }
}

/// Lists of nodes, headers and neighbours: one left out, repeated, or in another order.
#[test]
fn each_changed_list_is_refused() {
    let lists =
        ["/proof/evm/receipt", "/proof/evm/transaction", "/proof/tvm/path", "/proof/tvm/headers"];
    for (block, text) in some() {
        let honest: Value = serde_json::from_str(&text).unwrap();
        let mut asked: Vec<String> = vec![];
        for place in lists {
            let many = honest.pointer(place).and_then(Value::as_array).map_or(0, Vec::len);
            for at in 0..many {
                let altered = |change: &dyn Fn(&mut Vec<Value>)| {
                    let mut altered = honest.clone();
                    change(altered.pointer_mut(place).unwrap().as_array_mut().unwrap());
                    with_digest(altered)
                };
                // The newest header may be left out: then one producer less stands on the block.
                if !(place.ends_with("headers") && at + 1 == many) {
                    asked.push(altered(&|all| drop(all.remove(at))));
                }
                asked.push(altered(&|all| all.insert(at, all[at].clone())));
                if at > 0 {
                    asked.push(altered(&|all| all.swap(at - 1, at)));
                }
            }
        }
        assert!(asked.iter().all(|text| !is_valid(text.as_bytes(), block)));
        assert!(
            verified(asked.iter().map(|text| (block, text.as_bytes()))).iter().all(|valid| !valid)
        );
    }
}
