//! Which block a request means, and the state that it is asked on.

use super::jsonrpc::Error;
use crate::chain::{Block, Chain, Header};
use crate::evm::Evm;
use crate::state::State;
use alloy::eips::{BlockId, BlockNumberOrTag, RpcBlockHash};
use std::sync::Arc;

/// The place at which something is read or run.
#[derive(Clone, Debug)]
pub struct At {
    /// The block that a call sees.
    pub header: Header,
    /// The accounts after it. At `pending` these are the head's: the pool is not run.
    pub state: Arc<State<()>>,
}

/// The height that a tag or number means; None for `pending`.
pub fn height(chain: &Chain<Evm>, tag: BlockNumberOrTag) -> Option<u64> {
    Some(match tag {
        BlockNumberOrTag::Latest => chain.head().header.number,
        BlockNumberOrTag::Finalized => chain.solid().header.number,
        BlockNumberOrTag::Safe => chain.safe().header.number,
        BlockNumberOrTag::Earliest => 0,
        BlockNumberOrTag::Pending => return None,
        BlockNumberOrTag::Number(number) => number,
    })
}

/// The block that is meant, if there is one; None for `pending`.
pub fn block(chain: &Chain<Evm>, id: BlockId) -> Option<Arc<Block<Evm>>> {
    let found = match id {
        BlockId::Hash(RpcBlockHash { block_hash, .. }) => chain.block_by_id(&block_hash),
        BlockId::Number(tag) => chain.block(height(chain, tag)?),
    };
    found.cloned()
}

/// Returns the place to read or run at. Without a block, the head.
pub fn at(chain: &Chain<Evm>, id: Option<BlockId>) -> Result<At, Error> {
    let id = id.unwrap_or_default();
    if id.is_pending() {
        return Ok(At { header: chain.next_header(), state: Arc::clone(chain.head_state()) });
    }
    let block = block(chain, id).ok_or_else(|| Error::node("header not found"))?;
    let number = block.header.number;
    let state = chain.state(number).ok_or_else(|| {
        Error::node(format!("historical state of block {number} is not available"))
    })?;
    Ok(At { header: block.header.clone(), state: Arc::clone(state) })
}
