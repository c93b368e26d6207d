//! The fee that an OP Stack chain takes for putting a transaction on the chain below it. It comes on
//! top of gas, and no bid bounds it; whoever cannot pay it is not taken.

use crate::{CallFault, ChainError, OddAnswer};
use alloy::primitives::{Address, U256, address};
use alloy::sol;
use alloy::sol_types::SolCall as _;
use evm_node::{self as node, Call, View};
use parking_lot::Mutex;

sol! {
    function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256 fee);
}

/// The predeployed contract that knows the fee. optimism: op-service/predeploys/addresses.go.
const ORACLE: Address = address!("0x420000000000000000000000000000000000000F");

/// The most that a transaction is longer than its calldata, before it is signed, bytes.
const ENVELOPE: usize = 160;

/// The allowance for a rise of the fee until the transaction lands, percent.
const MARGIN_PERCENT: u64 = 30;

/// The gas that a read may use.
const READ_GAS: u64 = 1_000_000;

/// The fee that the chain last took, and the number of calldata bytes that it was for; nothing where the chain
/// takes no such fee.
#[derive(Debug, Default)]
pub(super) struct DataFee(Mutex<Option<(usize, U256)>>);

impl DataFee {
    /// Takes down the fee that the chain took for so many bytes of calldata, wei.
    pub(super) fn learn(&self, length: usize, fee: U256) {
        *self.0.lock() = Some((length, fee));
    }

    /// Returns the fee that the chain last took, wei.
    pub(super) fn last(&self) -> U256 {
        self.0.lock().map_or(U256::ZERO, |(_, fee)| fee)
    }

    /// Returns the most that the chain takes for so many bytes of calldata, wei. For more bytes than were asked
    /// about, the fee is scaled up, which is too much and never too little: part of it does not grow.
    pub(super) fn of(&self, length: usize) -> U256 {
        let Some((asked, fee)) = *self.0.lock() else { return U256::ZERO };
        let (asked, length) = (U256::from(asked.max(1)), U256::from(length));
        fee.saturating_mul(length.max(asked)).div_ceil(asked)
    }
}

/// Asks for the fee of so many bytes of calldata, wei, with the margin for a rise. `from` is the account that asks.
pub(super) async fn ask(view: &View<'_>, from: Address, length: usize) -> Result<U256, ChainError> {
    let size = U256::from(length.saturating_add(ENVELOPE));
    let asked = getL1FeeUpperBoundCall { unsignedTxSize: size }.abi_encode();
    let call = Call { from, to: ORACLE, data: &asked, gas: READ_GAS };
    let answer = match node::call(view, call).await.map_err(ChainError::from) {
        Ok(answer) => answer,
        Err(ChainError::Node { answer, .. }) => return Err(no_oracle(answer)),
        Err(error) => return Err(error),
    };
    let fee = getL1FeeUpperBoundCall::abi_decode_returns(&answer)
        .map_err(|_| no_oracle(OddAnswer::Unreadable))?;
    let margin = fee.saturating_mul(U256::from(MARGIN_PERCENT)).div_ceil(U256::from(100));
    Ok(fee.saturating_add(margin))
}

fn no_oracle(answer: OddAnswer) -> ChainError {
    CallFault::NoOracle(answer.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fee_for_data_is_scaled_up_and_never_down() {
        let fee = DataFee::default();
        assert_eq!(fee.of(1000), U256::ZERO, "a chain without one");
        fee.learn(1000, U256::from(300));
        assert_eq!(fee.of(1000), U256::from(300));
        assert_eq!(fee.of(10), U256::from(300));
        assert_eq!(fee.of(1001), U256::from(301));
        assert_eq!(fee.of(3000), U256::from(900));
    }
}
