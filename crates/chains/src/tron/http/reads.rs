//! Blocks, transactions and infos.

use super::request::Request;
use crate::chain::{Block, Chain, Place};
use crate::tron::calls::Side;
use crate::tron::json::blocks::Detail;
use crate::tron::json::{Spelling, blocks, transactions};
use crate::tron::{Tron, TronNode};
use revm::primitives::B256;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::Arc;

/// The part of the chain that a reader sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// The newest block.
    pub(super) newest: u64,
    /// True if the reader sees the pool too.
    pub(super) pool: bool,
}

impl Sight {
    pub(super) fn new(chain: &Chain<Tron>, side: Side, lag: u64) -> Self {
        let newest = match side {
            Side::Full => chain.head(),
            Side::Solid => chain.solid(),
        };
        Self {
            newest: newest.header.number.saturating_sub(lag),
            pool: side == Side::Full && lag == 0,
        }
    }

    fn block(self, chain: &Chain<Tron>, number: u64) -> Option<&Arc<Block<Tron>>> {
        chain.block(number).filter(|_| number <= self.newest)
    }

    /// Returns the place of a transaction, as far as this reader sees.
    pub(super) fn find(self, chain: &Chain<Tron>, id: &B256) -> Option<Place<Tron>> {
        chain.find(id).filter(|place| place.block.header.number <= self.newest)
    }
}

/// The most blocks that a range may have.
const MOST_BLOCKS: i64 = 100;

/// The numbers that are asked for together; none where they are too many.
fn range(request: &Request) -> Range<u64> {
    let [first, end] = ["startNum", "endNum"].map(|key| request.number(key));
    let fits = (0..end).contains(&first) && end - first <= MOST_BLOCKS;
    let [first, end] = [first, end].map(|at| u64::try_from(at).unwrap_or_default());
    if fits { first..end } else { 0..0 }
}

fn listed(blocks: &[Value]) -> Value {
    if blocks.is_empty() { json!({}) } else { json!({"block": blocks}) }
}

/// Returns what the pool holds: the number, or the ids.
fn waiting(chain: &Chain<Tron>, name: &str) -> Value {
    if name == "getpendingsize" {
        return json!({"pendingSize": chain.pool().len()});
    }
    let ids: Vec<_> = chain.pool().iter().map(|pending| hex::encode(pending.id)).collect();
    if ids.is_empty() { json!({}) } else { json!({"txId": ids}) }
}

impl TronNode {
    pub(super) fn reads(&self, side: Side, name: &str, request: &Request) -> Option<Value> {
        let mut chain = self.node().chain();
        let sight = Sight::new(&chain, side, request.lag);
        let show_as = |block: Option<&Arc<Block<Tron>>>, detail| {
            block.map_or_else(
                || json!({}),
                |block| blocks::block(chain.family(), block, detail, request.spelling()),
            )
        };
        let show = |block| show_as(block, Detail::Transactions);
        let number = u64::try_from(request.number("num")).ok();
        Some(match name {
            "getblock" if !request.parsed => {
                json!({"Error": "class com.alibaba.fastjson.JSONException : not JSON"})
            }
            "getblock" => match wanted(&chain, sight, request) {
                Ok(block) => show_as(block, Detail::of(&request.json)),
                Err(error) => json!({"Error": error}),
            },
            "getnowblock" => show(sight.block(&chain, sight.newest)),
            "getblockbynum" => show(number.and_then(|number| sight.block(&chain, number))),
            "getblockbyid" => match id_of(request) {
                Ok(id) => show(id.and_then(|id| chain.block_by_id(&id))),
                Err(error) => json!({"Error": error}),
            },
            "getblockbylatestnum" => {
                let first = (sight.newest + 1).saturating_sub(number.unwrap_or(0));
                let shown = (first..=sight.newest).map(|at| show(sight.block(&chain, at)));
                json!({"block": shown.collect::<Vec<_>>()})
            }
            "getblockbylimitnext" => {
                let found = range(request).filter_map(|at| sight.block(&chain, at));
                listed(&found.map(|block| show(Some(block))).collect::<Vec<_>>())
            }
            "gettransactioncountbyblocknum" => {
                let block = number.and_then(|number| sight.block(&chain, number));
                json!({"count": block.map_or(0, |block| block.body.len())})
            }
            "gettransactioninfobyblocknum" if request.number("num") <= 0 => json!({}),
            "gettransactioninfobyblocknum" => {
                let block = number
                    .and_then(|number| sight.block(&chain, number))
                    .filter(|_| self.options().history);
                block.map_or_else(|| json!([]), infos)
            }
            "gettransactionbyid" | "gettransactioninfobyid" | "gettransactionfrompending" => {
                match id_of(request) {
                    Ok(Some(id)) => {
                        self.transaction(&mut chain, sight, name, &id, request.spelling())
                    }
                    Ok(None) => json!({}),
                    Err(error) => json!({"Error": error}),
                }
            }
            "getpendingsize" | "gettransactionlistfrompending" => waiting(&chain, name),
            _ => return None,
        })
    }

    fn transaction(
        &self,
        chain: &mut Chain<Tron>,
        sight: Sight,
        name: &str,
        id: &B256,
        spelling: Spelling,
    ) -> Value {
        let found = sight.find(chain, id);
        match name {
            "gettransactioninfobyid" => found
                .filter(|_| self.options().history)
                .map_or_else(|| json!({}), |place| transactions::info(&place)),
            "gettransactionbyid" if found.is_some() => found.map_or_else(
                || json!({}),
                |place| {
                    let included = place.included();
                    transactions::transaction(&included.tx, Some(included.receipt.ret()), spelling)
                },
            ),
            _ if sight.pool => {
                let rets = self.session(chain).rets;
                let pending = chain.pool().get(id);
                pending.map_or_else(
                    || json!({}),
                    |pending| {
                        transactions::transaction(&pending.tx, rets.get(id).copied(), spelling)
                    },
                )
            }
            _ => json!({}),
        }
    }
}

fn infos(block: &Arc<Block<Tron>>) -> Value {
    let places = (0..block.body.len()).map(|index| Place { block: Arc::clone(block), index });
    places.map(|place| transactions::info(&place)).collect()
}

/// The block that `getblock` asks for: all digits are a number, anything else an id.
fn wanted<'a>(
    chain: &'a Chain<Tron>,
    sight: Sight,
    request: &Request,
) -> Result<Option<&'a Arc<Block<Tron>>>, String> {
    let illegal = || "id must be legal block hash.".to_owned();
    let text = request.text("id_or_num")?;
    if text.is_empty() {
        return Ok(sight.block(chain, sight.newest));
    }
    if let Ok(number) = text.parse::<i64>() {
        let number =
            u64::try_from(number).map_err(|_| "num must be non-positive number.".to_owned())?;
        return Ok(sight.block(chain, number));
    }
    let id = hex::decode(&text)
        .ok()
        .and_then(|bytes| B256::try_from(bytes.as_slice()).ok())
        .ok_or_else(illegal)?;
    let block = chain.block_by_id(&id).ok_or_else(illegal)?;
    Ok(sight.block(chain, block.header.number))
}

/// The id in `value`: 32 bytes or nothing.
fn id_of(request: &Request) -> Result<Option<B256>, String> {
    Ok(B256::try_from(request.bytes("value")?.as_slice()).ok())
}
