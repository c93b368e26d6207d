//! The first position of a lane.

use super::{Closed, NonceView};
use alloy::primitives::Address;

/// Returns the first position of a lane that the journal does not know. The lane begins where its account stood
/// when the journal was `left`, since the journal may be a copy that has forgotten what came later. If nobody has
/// left the journal, or nothing counts transactions, the lane begins behind the `sent` ones, those in pools
/// included. A transaction that is not final can still vanish, and would leave a gap that nobody closes.
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
