//! The fee that an OP Stack chain takes for putting a transaction on the chain below it. It comes on
//! top of gas, and no bid bounds it; whoever cannot pay it is not taken.

use super::EvmChain;
use super::node::{self, Call, View};
use crate::billing::Charge;
use crate::chain::ChainError;
use crate::config::L1Fee;
use alloy::primitives::{Address, U256, address};
use alloy::sol;
use alloy::sol_types::SolCall as _;

sol! {
    function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256 fee);
}

/// The predeployed contract that knows the fee. optimism: op-service/predeploys/addresses.go.
const ORACLE: Address = address!("0x420000000000000000000000000000000000000F");

/// The most that a transaction is longer than its calldata, before it is signed, bytes.
const ENVELOPE: usize = 160;

/// What the fee may rise until the transaction lands, percent.
const MARGIN_PERCENT: u64 = 30;

/// What a read may use, gas.
const READ_GAS: u64 = 1_000_000;

impl EvmChain {
    /// What the chain takes beside gas for billing `charges`, at most, wei.
    pub(super) async fn surcharge(
        &self,
        view: &View<'_>,
        charges: &[Charge],
    ) -> Result<U256, ChainError> {
        match self.parts.config.fees.l1_fee {
            L1Fee::None => Ok(U256::ZERO),
            L1Fee::Op => {
                let head = self.current().await?;
                // A batch that cannot be encoded is refused anyway.
                let calldata = self.calldata(&head, charges).map_or(0, |data| data.len());
                self.op_fee(view, calldata.saturating_add(ENVELOPE)).await
            }
        }
    }

    async fn op_fee(&self, view: &View<'_>, length: usize) -> Result<U256, ChainError> {
        let asked = getL1FeeUpperBoundCall { unsignedTxSize: U256::from(length) }.abi_encode();
        let from = self.parts.facts.signer;
        let call = Call { from, to: ORACLE, data: &asked, gas: READ_GAS };
        let answer = match node::call(view, call).await.map_err(ChainError::from) {
            Ok(answer) => answer,
            Err(ChainError::Node { answer, .. }) => return Err(no_oracle(&answer)),
            Err(error) => return Err(error),
        };
        let fee = getL1FeeUpperBoundCall::abi_decode_returns(&answer)
            .map_err(|_| no_oracle("nothing that can be read"))?;
        let margin = fee.saturating_mul(U256::from(MARGIN_PERCENT)).div_ceil(U256::from(100));
        Ok(fee.saturating_add(margin))
    }
}

fn no_oracle(answer: &str) -> ChainError {
    ChainError::CallFails(format!(
        "fees.l1_fee = \"op\", but the chain's GasPriceOracle answered {answer}: set it to \"none\" if \
         this is no OP Stack chain"
    ))
}
