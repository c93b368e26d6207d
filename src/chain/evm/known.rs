//! What is known of a node besides what it tells in every look.

use tokio::time::Instant;

/// What a node turned out to know and to be able to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvmNodeFacts {
    /// Whether there is code at the contract's address.
    pub(super) contract: bool,
    /// Whether there is code at the aggregator's address.
    pub(super) multicall: bool,
    /// Whether `eth_simulateV1` works.
    pub(super) simulates: bool,
    /// How many transactions of the signing account nodes hold at once: one, when it has delegated
    /// itself to a contract (EIP-7702). geth: core/txpool/legacypool, `checkDelegationLimit`.
    pub(super) held_at_once: u64,
    /// When it was asked.
    pub(super) checked: Instant,
    /// How many exchanges with it had broken by then.
    pub(super) breaks: u64,
}

impl EvmNodeFacts {
    /// The same for a node that can simulate, or can't.
    pub(super) fn but(self, simulates: bool) -> Self {
        Self { simulates, ..self }
    }
}
