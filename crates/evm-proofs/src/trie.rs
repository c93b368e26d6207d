//! The trie over the transactions, or over the receipts, of one block: its root, and the nodes from the root to one item.

use alloy::primitives::{B256, Bytes};
use alloy::rlp::{decode_exact, encode_fixed_size};
use alloy::trie::nodes::TrieNode;
use alloy::trie::proof::{ProofRetainer, verify_proof};
use alloy::trie::root::{adjust_index_for_rlp, ordered_trie_root_encoded};
use alloy::trie::{HashBuilder, Nibbles};

/// The root over these items, in their order.
pub fn root(items: &[Vec<u8>]) -> B256 {
    ordered_trie_root_encoded(items)
}

/// The nodes from the root over these items down to the one at `index`, in RLP; none if there is no such item. The last
/// node holds the item.
pub fn path(items: &[Vec<u8>], index: usize) -> Option<Vec<Bytes>> {
    items.get(index)?;
    let retained = ProofRetainer::new(vec![key(index)]);
    let mut builder = HashBuilder::default().with_proof_retainer(retained);
    for place in 0..items.len() {
        let at = adjust_index_for_rlp(place, items.len());
        builder.add_leaf(key(at), items.get(at)?);
    }
    builder.root();
    Some(builder.take_proof_nodes().into_nodes_sorted().into_iter().map(|(_, node)| node).collect())
}

/// The item at `index` below `root`, if these nodes lead to it and no node is left over.
pub fn item(root: B256, index: usize, nodes: &[Bytes]) -> Option<Vec<u8>> {
    let last: TrieNode = decode_exact(nodes.last()?).ok()?;
    let TrieNode::Leaf(leaf) = last else { return None };
    verify_proof(root, key(index), Some(leaf.value.clone()), nodes).ok()?;
    Some(leaf.value)
}

/// The key of an item: its index in RLP.
fn key(index: usize) -> Nibbles {
    Nibbles::unpack(encode_fixed_size(&index))
}
