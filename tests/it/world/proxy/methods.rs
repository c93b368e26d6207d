//! The names by which tests call what a node is asked, the same on both families.

/// Stands for every method in [`Proxy::fault`](super::Proxy::fault).
pub(crate) const ANYTHING: &str = "*";

/// The call that offers a transaction, on either family.
pub(crate) const SEND: &str = "send";
/// The call that runs a billing without sending it.
pub(crate) const SIMULATE: &str = "simulate";
/// The call that asks what became of a transaction.
pub(crate) const OUTCOME: &str = "outcome";
/// The call that every look at the chain makes once.
pub(crate) const LOOK: &str = "look";
/// The call that asks for a block.
pub(crate) const BLOCK: &str = "block";

/// The name of an `eth_call` that puts code somewhere for its own length.
pub(crate) const READER: &str = "eth_call with overrides";

/// The name of the call that asks for the newest block.
pub(super) const NEWEST: &str = "eth_getBlockByNumber latest";

/// What a name stands for.
fn names(method: &str) -> &[&str] {
    match method {
        SEND => &["eth_sendRawTransaction", "broadcasthex"],
        SIMULATE => &[READER, "eth_simulateV1", "triggerconstantcontract"],
        "eth_call" => &[READER],
        OUTCOME => &["eth_getTransactionReceipt", "gettransactioninfobyid"],
        LOOK => &[NEWEST, "getaccount"],
        "eth_getBlockByNumber" => &[NEWEST],
        BLOCK => &["eth_getBlockByNumber", NEWEST, "getblock"],
        _ => &[],
    }
}

/// Returns true if a fault of this name concerns the call.
pub(super) fn fits(method: &str, asked: &str) -> bool {
    method == asked || method == ANYTHING || names(method).contains(&asked)
}
