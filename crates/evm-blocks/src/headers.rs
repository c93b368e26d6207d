//! Headers of blocks whose hashes are known: whatever a node tells, a header counts by its hash alone.

use ::node::{Fleet, JsonRpc, decode};
use evm_node as node;
use evm_proofs::answer::BlockAnswer;
use evm_proofs::block_id::BlockId;
use evm_proofs::header::ProvenHeader;

/// Returns the header of the block, from the first node that tells it; none if no node does.
pub async fn header(fleet: &Fleet<JsonRpc>, block: BlockId) -> Option<ProvenHeader> {
    for id in fleet.fit() {
        let Ok(told) = node::header_told(fleet.only(id), block.hash).await else { continue };
        let Ok(Some(answer)) = decode::<Option<BlockAnswer>>(told.get().as_bytes()) else {
            continue;
        };
        let Ok(header) = answer.prove_header(None) else { continue };
        if header.hash() == block.hash && header.fields().number == block.number {
            return Some(header);
        }
    }
    None
}
