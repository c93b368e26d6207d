//! What the messages of EVM nodes mean. They choose the next action and prove nothing.

use crate::chain::rpc::NodeError;

/// Whether the node says that it cannot answer now, while it or another one may soon.
pub fn passing(error: &NodeError) -> bool {
    let said = error.message.to_ascii_lowercase();
    ["header not found", "rate limit", "request limit", "too many requests", "syncing"]
        .iter()
        .any(|words| said.contains(words))
}
