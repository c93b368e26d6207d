//! A transaction that was decided long ago: the nodes' record of it, and the block that shows it.

use crate::TxOnRecord;
use crate::block_on_record::{BlockOnRecord, NotShown};
use crate::moved::RecordOfNode;
use ::node::{Fleet, JsonRpc, NoAgreement};
use alloy::primitives::B256;
use evm_blocks::{BlockProof, NoProof, ReceiptsBy};
use evm_node::EvmAsker;

/// The record of a transaction that as many nodes as have to agree tell alike.
pub(crate) async fn on_record(
    fleet: &Fleet<JsonRpc>,
    transaction: B256,
) -> Result<Option<TxOnRecord>, NoAgreement> {
    let about = "the record of a transaction";
    let agreed = fleet.agreed(about, |id| record_of(fleet.only(id), transaction)).await;
    agreed.map(RecordOfNode::found)
}

/// Returns a node's word on the record of a transaction; none if the node does not answer.
async fn record_of(rpc: EvmAsker<'_>, hash: B256) -> Option<RecordOfNode> {
    let Some(found) = evm_node::receipt(rpc, hash).await.ok()? else {
        return Some(RecordOfNode::Missing);
    };
    let (block, of) = (found.block_number(), found.block_hash);
    let record = TxOnRecord { block, of, logs: found.logs };
    (found.transaction_hash == hash).then_some(RecordOfNode::Found(record))
}

/// The block of a transaction, by the hash that as many nodes as have to agree name, from the first of them that tells
/// the block in a form that proves it.
pub(crate) async fn block_of(
    fleet: &Fleet<JsonRpc>,
    transaction: B256,
) -> Result<BlockOnRecord, NotShown> {
    let hash = on_record(fleet, transaction).await?.ok_or(NotShown::NoRecord)?.of;
    let mut said = vec![];
    for id in fleet.fit() {
        let (rpc, receipts_by) = (fleet.only(id), ReceiptsBy::Block);
        match (BlockProof { rpc, hash, shape: None, receipts_by }).find().await {
            Ok(block) => return Ok(BlockOnRecord::Evm(Box::new(block))),
            Err(no_proof) => {
                if let NoProof::False(contradiction) = &no_proof {
                    let lie = format!("about the final block {hash}: {contradiction}");
                    fleet.caught_lying(id, &lie);
                }
                said.push(format!("{}: {no_proof}", fleet.label(id)));
            }
        }
    }
    Err(NotShown::NoBlock(said.join("; ")))
}
