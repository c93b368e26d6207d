//! The facts known of a node besides what it tells in every look.

use tokio::time::Instant;

/// The knowledge and the abilities that a node turned out to have.
#[derive(Clone, Copy, Debug)]
pub struct EvmNodeFacts {
    /// True if there is code at the contract's address.
    pub contract: bool,
    /// True if there is code at the aggregator's address.
    pub multicall: bool,
    /// The ways in which a call can be run.
    pub ways: Ways,
    /// The number of the signing account's transactions that nodes hold at once: one, when the account has
    /// delegated itself to a contract (EIP-7702). geth: core/txpool/legacypool, `checkDelegationLimit`.
    pub held_at_once: u64,
    /// The time up to which this is taken for granted.
    pub until: Instant,
    /// The number of exchanges with the node that had broken by then.
    pub breaks: u64,
}

/// The ways, beside `eth_call` and `eth_estimateGas`, in which a node runs a call without sending it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// True if `eth_simulateV1` works.
    pub simulates: bool,
    /// True if the node answers one question through a reader at the account's address.
    pub reader: bool,
}
