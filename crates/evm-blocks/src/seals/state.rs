//! The progress of a proof by seals: the list that is followed, the run that is under way, and the nodes whose turn it is.

use ::node::NodeId;
use parlia::following::Following;
use parlia::run::Run;
use tokio::time::Instant;

/// The blocks from one epoch header to the next (bsc: `params/protocol_params.go`, since Maxwell).
pub(super) const EPOCH: u64 = 1_000;

/// The most blocks from one list to the next: six hours of blocks of 0.45 s. Each day elects other validators, and a list
/// of days before proves nothing.
const STRIDE: u64 = 48 * EPOCH;

/// The progress of the proof.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) following: Option<Following>,
    pub(super) run: Option<UnderWay>,
    /// The height of the block that was to be proven by a node that was then passed over. Its headers are there by now,
    /// so that the next node proves it at once.
    pub(super) left: Option<u64>,
    /// The nodes whose headers proved nothing, the last one last.
    pub(super) passed_over: Vec<NodeId>,
    pub(super) asked: Option<Instant>,
    /// An epoch's first block that holds no list: a fork has other epochs.
    pub(super) listless: Option<u64>,
}

/// A run that is under way. One node tells all of its headers: above the newest block honest nodes tell none, so that
/// among several whoever makes up headers would be heard there, and theirs would not stand on his.
#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) node: NodeId,
    /// The height of the block that it is to prove.
    pub(super) number: u64,
    /// The height that nodes called final when it began.
    pub(super) since: u64,
    pub(super) run: Run,
}

/// The number of validators that sealed, and of those that are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortage {
    pub(super) sealers: usize,
    pub(super) needed: usize,
}

impl State {
    /// Puts the node after all others.
    pub(super) fn pass_over(&mut self, node: NodeId) {
        self.passed_over.retain(|passed| *passed != node);
        self.passed_over.push(node);
    }

    /// Returns the fit nodes in the order in which they are asked. A validator's node can show a branch of its own: one
    /// whose headers proved nothing is asked after the others.
    pub(super) fn in_turn(&self, mut fit: Vec<NodeId>) -> Vec<NodeId> {
        fit.sort_by_key(|node| self.passed_over.iter().position(|passed| passed == node));
        fit
    }

    /// Returns true if a run is to be brought to its end.
    pub(super) fn is_amid_a_run(&self) -> bool {
        self.run.is_some() || self.left.is_some()
    }

    /// Returns the height of the header with the next list, while nodes call `told` final; none where the newest list is
    /// known, or no list at all.
    pub(super) fn next_list(&self, told: u64) -> Option<u64> {
        let since = self.following.as_ref()?.since();
        let newest = epoch_of(told);
        let next = newest.min(epoch_of(since).saturating_add(STRIDE));
        (newest > since && self.listless != Some(next)).then_some(next)
    }

    /// Returns true if the way from the pinned list to the newest is not at its end.
    pub(super) fn is_behind(&self, told: u64) -> bool {
        let Some(list) = &self.following else { return true };
        let gap = epoch_of(told).saturating_sub(list.since());
        gap > 2 * EPOCH && self.next_list(told).is_some()
    }
}

/// Returns the height of the first block of the epoch.
fn epoch_of(number: u64) -> u64 {
    number.div_euclid(EPOCH).saturating_mul(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::Address;
    use parlia::validators::ValidatorList;

    fn since(number: u64) -> State {
        let validators = ValidatorList::new(1, [Address::repeat_byte(7)]).unwrap();
        let following = Some(Following::trusting(validators, number));
        State { following, ..State::default() }
    }

    #[test]
    fn an_old_list_leads_to_the_newest_by_strides_and_then_nothing_is_behind() {
        let mut state = since(1_000_000);
        let told = 1_100_777;
        let mut strides = vec![];
        while let Some(next) = state.next_list(told) {
            assert!(state.is_behind(told));
            strides.push(next);
            state = since(next);
        }
        assert_eq!(strides, [1_048_000, 1_096_000, 1_100_000]);
        assert!(!state.is_behind(told));
        // An epoch or two come to be behind while nothing waits for a block.
        assert_eq!(state.next_list(1_102_999), Some(1_102_000));
        assert!(!state.is_behind(1_102_999));
        assert!(State::default().is_behind(told), "the pinned list was not read yet");
    }

    #[test]
    fn a_header_without_a_list_is_not_asked_for_again() {
        let state = State { listless: Some(1_001_000), ..since(1_000_000) };
        assert_eq!(state.next_list(1_001_500), None);
        assert_eq!(state.next_list(1_002_500), Some(1_002_000));
    }

    #[test]
    fn nodes_whose_headers_proved_nothing_are_asked_after_the_others() {
        let mut state = State::default();
        let fit = || vec![NodeId(2), NodeId(0), NodeId(1)];
        let mut order = vec![state.in_turn(fit())];
        for node in [2, 0, 1, 2] {
            state.pass_over(NodeId(node));
            order.push(state.in_turn(fit()));
        }
        let expected = [[2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]];
        assert_eq!(order, expected.map(|nodes| nodes.map(NodeId).to_vec()));
    }
}
