//! Where a lane begins.

use super::{Closed, NonceView};
use alloy::primitives::Address;

/// Where a lane begins that the journal does not know: where its account stood when the journal was `left`,
/// since the journal may be a copy that has forgotten what came later. Where nobody has left it, or nothing
/// counts transactions, behind the `sent` ones, those in pools included. What is not final can still vanish,
/// and would leave a gap that nobody closes.
pub fn first_position(
    signer: Address,
    left: Option<u64>,
    sent: u64,
    nonces: Option<NonceView>,
) -> Result<u64, Closed> {
    if let Some(left) = left {
        return Ok(left);
    }
    match nonces {
        Some(nonces) if nonces.finalized < nonces.mined.max(sent) => {
            Err(Closed::NotFinal { signer })
        }
        Some(_) | None => Ok(sent),
    }
}
