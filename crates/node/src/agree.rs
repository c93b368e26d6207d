//! The agreement of several nodes: pure functions of their answers.
//!
//! One node may lie, lag or run ahead. A value counts when a second node bears it out, wherever a
//! second node is configured.

use super::rules::NodeId;

/// A node this many blocks away from the others is out of step with them.
pub(super) const MOST_BLOCKS_APART: u64 = 5;

/// A head this much older than the others', seconds of chain time, is stale.
pub(super) const MOST_SECONDS_APART: u64 = 60;

/// The head of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadSeen {
    /// The block's number.
    pub number: u64,
    /// The block's timestamp, Unix seconds.
    pub time: u64,
}

/// The largest value that at least `needed` of the values reach.
pub fn reached_by<T: Ord + Copy>(
    values: impl IntoIterator<Item = T, IntoIter: Clone>,
    needed: usize,
) -> Option<T> {
    // Nodes are few, and this is asked many times in a request: it keeps no list.
    let values = values.into_iter();
    let reach = |value: &T| values.clone().filter(|other| other >= value).count() >= needed;
    values.clone().filter(reach).max().filter(|_| needed > 0)
}

/// The median; of an even number the larger middle one.
pub fn median<T: Ord + Copy>(values: impl IntoIterator<Item = T>) -> Option<T> {
    let mut sorted: Vec<T> = values.into_iter().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() >> 1).copied()
}

/// The first value that at least `needed` answers share.
pub fn shared<R: PartialEq>(answers: &[R], needed: usize) -> Option<&R> {
    answers.iter().find(|one| answers.iter().filter(|other| other == one).count() >= needed)
}

/// Which nodes are out of step. Of two nodes that differ the one that is behind is, since a chain
/// only grows; of three or more also one that is ahead of all others, which nobody bears out.
pub(super) fn out_of_step(heads: &[(NodeId, HeadSeen)]) -> Vec<NodeId> {
    let trusted = if heads.len() >= 3 { 2 } else { 1 };
    let numbers = heads.iter().map(|(_, head)| head.number);
    let Some(number) = reached_by(numbers, trusted) else { return Vec::new() };
    let at = |(_, head): &&(NodeId, HeadSeen)| head.number >= number;
    let time = heads.iter().filter(at).map(|(_, head)| head.time).min().unwrap_or(0);
    let off = |head: &HeadSeen| {
        let stale = head.number < number && time.saturating_sub(head.time) > MOST_SECONDS_APART;
        head.number.abs_diff(number) > MOST_BLOCKS_APART || stale
    };
    heads.iter().filter(|(_, head)| off(head)).map(|(id, _)| *id).collect()
}

/// A node's report of the account's nonce, at its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NonceSeen {
    /// The source of the statement.
    pub node: NodeId,
    /// The number of its head.
    pub head: u64,
    /// The number of the account's transactions that the node counts up to there.
    pub nonce: u64,
}

/// The largest value that `needed` reach, or that fewer than two others, and than `needed`, deny by a smaller
/// one. None where fewer than `needed` values were told: who is silent denies nothing.
pub fn undenied<T: Ord + Copy>(values: impl IntoIterator<Item = T>, needed: usize) -> Option<T> {
    let mut sorted: Vec<T> = values.into_iter().collect();
    sorted.sort_unstable();
    let borne_out = reached_by(sorted.iter().copied(), needed)?;
    let deniers = needed.max(2);
    sorted.truncate(deniers);
    sorted.last().map(|undenied| borne_out.max(*undenied))
}

/// The nodes whose nonce is too high to be true: two others that have seen as many blocks count
/// fewer transactions, no other counts as many, and a chain never loses one as it grows.
pub fn refuted(seen: &[NonceSeen]) -> Vec<NodeId> {
    let is_refuted = |one: &&NonceSeen| {
        let others = || seen.iter().filter(|other| other.node != one.node);
        let contradicts = |other: &&NonceSeen| other.head >= one.head && other.nonce < one.nonce;
        let alone = others().all(|other| other.nonce < one.nonce);
        alone && others().filter(contradicts).count() >= 2
    };
    seen.iter().filter(is_refuted).map(|one| one.node).collect()
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
