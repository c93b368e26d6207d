//! A transaction that was decided long ago: the nodes' record of it, and the block that shows it, with the headers that
//! stand on the block. Whoever is shown them judges them.

use crate::TxOnRecord;
use crate::block_on_record::{BlockOnRecord, NotShown, SolidBlock};
use crate::moved::RecordOfNode;
use ::node::{AskError, Fleet, NoAgreement, NodeId};
use alloy::primitives::{B256, U256};
use std::collections::BTreeSet;
use tron_node::{Api, Detail, Endpoints, Side};
use tron_primitives::answer::BlockAnswer;
use tron_primitives::finality::{MOST_WITNESSES, needed};

/// The most headers that are asked for: one round of all witnesses.
const MOST_BEHIND: u64 = 27;

/// The record of a transaction that as many nodes as have to agree tell alike.
pub(crate) async fn on_record(
    fleet: &Fleet<Endpoints>,
    transaction: B256,
) -> Result<Option<TxOnRecord>, NoAgreement> {
    let about = "the record of a transaction";
    let agreed = fleet.agreed(about, |id| record_of(fleet, id, transaction)).await;
    agreed.map(RecordOfNode::found)
}

/// Returns a node's word on the record of a transaction in an irrevocable block; none if the node does not answer.
async fn record_of(fleet: &Fleet<Endpoints>, node: NodeId, id: B256) -> Option<RecordOfNode> {
    let Some(found) = Api::of(fleet, node).info(Side::Solidity, id).await.ok()? else {
        return Some(RecordOfNode::Missing);
    };
    let of = B256::from(U256::from(found.block_time_ms));
    let record = TxOnRecord { block: found.block, of, logs: found.logs };
    Some(RecordOfNode::Found(record))
}

/// The block of a transaction, by the number and the time that as many nodes as have to agree name, from the first of
/// them that tells it.
pub(crate) async fn block_of(
    fleet: &Fleet<Endpoints>,
    transaction: B256,
) -> Result<BlockOnRecord, NotShown> {
    let record = on_record(fleet, transaction).await?.ok_or(NotShown::NoRecord)?;
    let time_ms = |block: &BlockAnswer| block.block_header.raw_data.timestamp;
    let mut said = vec![];
    for id in fleet.fit() {
        match told_block(Api::of(fleet, id), record.block).await {
            Ok(Some(told)) if B256::from(U256::from(time_ms(&told.block))) != record.of => {
                said.push(format!("{}: it tells a block of another time", fleet.label(id)));
            }
            Ok(Some(block)) => return Ok(BlockOnRecord::Tvm(Box::new(block))),
            Ok(None) => said.push(format!("{}: it has no such block", fleet.label(id))),
            Err(error) => said.push(format!("{}: {error}", fleet.label(id))),
        }
    }
    Err(NotShown::NoBlock(said.join("; ")))
}

async fn told_block(api: Api<'_>, number: u64) -> Result<Option<SolidBlock>, AskError> {
    let Some(block) = api.claimed(Side::Solidity, number, Detail::Whole).await? else {
        return Ok(None);
    };
    let producer = |block: &BlockAnswer| block.block_header.raw_data.witness_address.clone();
    let (mut above, mut producers) = (vec![], BTreeSet::from([producer(&block)]));
    for behind in 1..=MOST_BEHIND {
        if producers.len() >= needed(MOST_WITNESSES) {
            break;
        }
        // A header on top counts by its producer's signature, also before it is irrevocable itself.
        let number = number.saturating_add(behind);
        let Some(next) = api.claimed(Side::Full, number, Detail::Header).await? else { break };
        producers.insert(producer(&next));
        above.push(next);
    }
    Ok(Some(SolidBlock { block, above }))
}
