//! The newest headers that nodes have shown while their heads were looked at. Each of them is proven like one that is
//! asked for; what was shown once need not be asked again.

use node::NodeId;
use std::collections::BTreeMap;
use tron_primitives::answer::BlockAnswer;

/// Number of headers kept of a node: those that a block needs on top, and as many again.
const KEPT: usize = 64;

/// Headers by node and number.
#[derive(Debug, Default)]
pub struct ShownHeaders(BTreeMap<NodeId, BTreeMap<u64, BlockAnswer>>);

impl ShownHeaders {
    /// Takes the newest header of a node.
    pub fn keep(&mut self, node: NodeId, header: BlockAnswer) {
        let of = self.0.entry(node).or_default();
        let number = header.block_header.raw_data.number;
        // Others of these numbers belong to a fork that the node has left.
        drop(of.split_off(&number));
        of.insert(number, header);
        while of.len() > KEPT {
            of.pop_first();
        }
    }

    /// Returns the header of a node with this number, as the node claims it.
    pub fn of(&self, node: NodeId, number: u64) -> Option<BlockAnswer> {
        self.0.get(&node)?.get(&number).cloned()
    }

    /// Returns true if any header of the node is kept.
    pub fn has(&self, node: NodeId) -> bool {
        self.0.contains_key(&node)
    }

    /// Forgets the headers of a node.
    pub fn forget(&mut self, node: NodeId) {
        drop(self.0.remove(&node));
    }
}
