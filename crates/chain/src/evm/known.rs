//! What is known of a node besides what it tells in every look.

use tokio::time::Instant;

/// What a node turned out to know and to be able to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvmNodeFacts {
    /// Whether there is code at the contract's address.
    pub(super) contract: bool,
    /// Whether there is code at the aggregator's address.
    pub(super) multicall: bool,
    /// How a call can be run.
    pub(super) ways: Ways,
    /// How many transactions of the signing account nodes hold at once: one, when it has delegated
    /// itself to a contract (EIP-7702). geth: core/txpool/legacypool, `checkDelegationLimit`.
    pub(super) held_at_once: u64,
    /// When it was asked.
    pub(super) checked: Instant,
    /// How many exchanges with it had broken by then.
    pub(super) breaks: u64,
}

/// The ways, beside `eth_call` and `eth_estimateGas`, in which a node runs a call without sending it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// Whether `eth_simulateV1` works.
    pub(super) simulates: bool,
    /// Whether one question is answered by a reader at the account's address.
    pub(super) reader: bool,
}
