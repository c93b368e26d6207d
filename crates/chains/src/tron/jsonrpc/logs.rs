//! `eth_getLogs`: by range or block, addresses, and topics with their alternatives.

use super::{Failure, first_log, log_json, parse_address};
use crate::chain::{Chain, Place};
use crate::tron::Tron;
use alloy::primitives::{Address, B256, Log};
use alloy::rpc::types::Filter;
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Which logs are wanted, wherever they are.
struct Wanted {
    /// One of these; any where there are none.
    addresses: Vec<Address>,
    topics: Filter,
}

impl Wanted {
    fn read(filter: &Value) -> Result<Self, Failure> {
        let addresses = match filter.get("address") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(several)) => several.iter().map(address).collect::<Result<_, _>>()?,
            Some(one) => vec![address(one)?],
        };
        let topics = json!({"topics": filter.get("topics").unwrap_or(&Value::Null)});
        let topics = serde_json::from_value(topics);
        Ok(Self {
            addresses,
            topics: topics.map_err(|why| invalid(&format!("invalid topics: {why}")))?,
        })
    }

    fn fits(&self, log: &Log) -> bool {
        (self.addresses.is_empty() || self.addresses.contains(&log.address))
            && self.topics.matches_topics(log.data.topics())
    }
}

fn address(value: &Value) -> Result<Address, Failure> {
    parse_address(value.as_str().ok_or_else(|| invalid("invalid address"))?)
}

fn invalid(why: &str) -> Failure {
    (-32602, why.to_owned())
}

pub(super) fn found(chain: &Chain<Tron>, newest: u64, filter: &Value) -> Result<Value, Failure> {
    let (blocks, wanted) = (blocks(chain, newest, filter)?, Wanted::read(filter)?);
    let mut found = vec![];
    for block in blocks.filter_map(|number| chain.block(number)) {
        for index in 0..block.body.len() {
            let place = Place { block: Arc::clone(block), index };
            let first = first_log(&place);
            for (at, log) in place.included().receipt.logs.iter().enumerate() {
                if wanted.fits(log) {
                    found.push(log_json(log, &place, first + at));
                }
            }
        }
    }
    Ok(Value::Array(found))
}

fn blocks(
    chain: &Chain<Tron>,
    newest: u64,
    filter: &Value,
) -> Result<RangeInclusive<u64>, Failure> {
    if let Some(hash) = filter.get("blockHash").filter(|hash| !hash.is_null()) {
        let hash = hash.as_str().and_then(|text| text.parse::<B256>().ok());
        let block = hash.and_then(|hash| chain.block_by_id(&hash));
        let number = block.ok_or_else(|| (-32000, "block not found".to_owned()))?.header.number;
        return Ok(number..=number);
    }
    let bound = |key: &str, default: u64| match filter.get(key).and_then(Value::as_str) {
        None | Some("latest") => Ok(default),
        Some("earliest") => Ok(0),
        Some(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .map_err(|_| invalid("invalid block number")),
    };
    Ok(bound("fromBlock", newest)?..=bound("toBlock", newest)?.min(newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Bytes, LogData};

    fn fits(filter: &Value, topics: &[u8]) -> bool {
        let topics = topics.iter().map(|byte| B256::repeat_byte(*byte)).collect();
        let data = LogData::new_unchecked(topics, Bytes::new());
        Wanted::read(filter).unwrap().fits(&Log { address: Address::repeat_byte(7), data })
    }

    #[test]
    fn every_topic_counts_in_its_place_and_alternatives_are_alternatives() {
        let word = |byte: u8| json!(B256::repeat_byte(byte));
        for (topics, fitting, other) in [
            (json!([word(1)]), &[1, 2][..], &[2, 1][..]),
            (json!([word(1), null, word(3)]), &[1, 2, 3], &[1, 2, 4]),
            (json!([[word(1), word(2)]]), &[2], &[3]),
            (json!([null, [word(2), word(3)]]), &[9, 3], &[9, 4]),
            (json!([null, word(2)]), &[1, 2], &[1]),
        ] {
            let filter = json!({"topics": topics});
            assert!(fits(&filter, fitting) && !fits(&filter, other), "{filter}");
        }
        assert!(fits(&json!({}), &[1]) && fits(&json!({"topics": []}), &[]));
        let odd = [json!({"topics": ["0x12"]}), json!({"topics": 5}), json!({"address": 5})];
        assert!(odd.iter().all(|filter| Wanted::read(filter).is_err()));
    }

    #[test]
    fn one_of_several_addresses_will_do() {
        let [other, here] = [8, 7].map(|byte| format!("{:#x}", Address::repeat_byte(byte)));
        assert!(fits(&json!({"address": [other, here]}), &[]));
        assert!(!fits(&json!({"address": other}), &[]));
    }
}
