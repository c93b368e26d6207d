//! The effect of a transaction that the journal does not know.

use super::Profile;
use alloy::primitives::{Address, Log};
use billing::{Execution, ForeignEffect, Item, Opaque, Undecodable};

/// A transaction in a final block that the journal does not know.
#[derive(Clone, Copy, Debug)]
pub struct FinalTx<'a> {
    /// The called address and the calldata; none if the transaction made a contract.
    pub call: Option<(Address, &'a [u8])>,
    /// True if the transaction succeeded.
    pub succeeded: bool,
    /// The logs of the transaction's contracts.
    pub logs: &'a [Log],
}

impl Profile {
    /// Returns true if a call was to charge just these items, in this order, as far as it tells.
    pub fn names(&self, calldata: &[u8], items: &[Item]) -> bool {
        self.carried(calldata).is_ok_and(|told| {
            told.len() == items.len() && told.iter().zip(items).all(|(told, item)| told.names(item))
        })
    }

    /// Returns the effect of a transaction on the charges through `contract`.
    pub fn effect(&self, contract: Address, tx: FinalTx<'_>) -> Result<ForeignEffect, Opaque> {
        let FinalTx { call, succeeded, logs } = tx;
        let told = self.tells_of_charges(contract, logs);
        let touches = || logs.iter().any(|log| log.address == contract);
        let carries = call.is_none_or(|(_, input)| !input.is_empty());
        // One that reverted did nothing. One that went elsewhere may still have charged somebody through another
        // contract: not without a word of ours that has one for it, and in silence where it has none. Coins alone
        // charge nobody.
        let may_have_charged = succeeded && told.unwrap_or_else(|| carries || touches());
        let silent = if may_have_charged { Err(Opaque) } else { Ok(ForeignEffect::Other) };
        let Some((_, input)) = call.filter(|(to, _)| *to == contract) else { return silent };
        match self.decode(input) {
            Ok(items) if succeeded => {
                let execution = Execution::Succeeded(self.outcomes(contract, logs, &items));
                Ok(ForeignEffect::Billed { contract, items, execution })
            }
            Ok(items) => {
                Ok(ForeignEffect::Billed { contract, items, execution: Execution::Reverted })
            }
            Err(_) if !succeeded => Ok(ForeignEffect::Other),
            Err(Undecodable::Selector) if told.is_some() => silent,
            Err(_) => Err(Opaque),
        }
    }
}
