//! The amounts that a transaction moved, by the transfers that its tokens logged.

use alloy::primitives::{Address, B256, Log, U256, b256};
use std::collections::BTreeMap;

/// `Transfer(address,address,uint256)`: the same on both families.
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// A token, and whose wallet it was taken from.
pub type TokenOfWallet = (Address, Address);

/// A transaction in a block, as nodes record it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxOnRecord {
    /// The number of its block.
    pub block: u64,
    /// Something that tells this block from another one of that number.
    pub of: B256,
    /// The logs of the transaction's contracts.
    pub logs: Vec<Log>,
}

/// One node's word on the record of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordOfNode {
    /// The node has none.
    Missing,
    /// It has this one.
    Found(TxOnRecord),
}

impl RecordOfNode {
    /// Returns the record, if there is one.
    pub(super) fn found(self) -> Option<TxOnRecord> {
        match self {
            Self::Missing => None,
            Self::Found(record) => Some(record),
        }
    }
}

impl TxOnRecord {
    /// Returns the amount that left each wallet, in base units of each token. Tokens that the billing `contract`
    /// passes on left a wallet before.
    pub fn taken(&self, contract: Address) -> BTreeMap<TokenOfWallet, U256> {
        let mut taken: BTreeMap<TokenOfWallet, U256> = BTreeMap::new();
        for log in &self.logs {
            let [TRANSFER, from, _] = log.topics() else { continue };
            let Ok(amount) = <[u8; 32]>::try_from(log.data.data.as_ref()) else { continue };
            let from = Address::from_word(*from);
            if from != contract {
                let sum = taken.entry((log.address, from)).or_default();
                *sum = sum.saturating_add(U256::from_be_bytes(amount));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Bytes, LogData};

    #[test]
    fn what_left_wallets_is_summed_by_token_and_what_is_passed_on_is_not() {
        let [token, other, ann, bob, contract, payee] =
            [1, 2, 3, 4, 5, 6].map(Address::repeat_byte);
        let log = |token, from: Address, amount: u64| {
            let topics = vec![TRANSFER, from.into_word(), payee.into_word()];
            let data = Bytes::from(U256::from(amount).to_be_bytes::<32>());
            Log { address: token, data: LogData::new_unchecked(topics, data) }
        };
        let mut approval = log(token, ann, 99);
        approval.data = LogData::new_unchecked(vec![B256::ZERO], Bytes::new());
        let logs = vec![
            log(token, ann, 7),
            log(token, ann, 3),
            log(other, ann, 1),
            log(token, contract, 10),
            log(token, bob, 5),
            approval,
        ];
        let on_record = TxOnRecord { block: 1, of: B256::ZERO, logs };
        let taken: Vec<_> = on_record.taken(contract).into_iter().collect();
        let expected = [((token, ann), 10), ((token, bob), 5), ((other, ann), 1)];
        assert_eq!(taken, expected.map(|(whose, amount)| (whose, U256::from(amount))));
    }
}
