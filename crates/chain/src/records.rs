//! The nodes' records of transactions that were decided long ago, to hold the ledger against, and the blocks that prove
//! them to others.

use super::block_on_record::{BlockOnRecord, NotShown};
use super::moved::TxOnRecord;
use super::{evm, tron};
use ::node::{Dial, Fleet, JsonRpc, NoAgreement};
use alloy::primitives::B256;
use config::FamilyConfig;
use tron_node::Endpoints;

/// The nodes of a chain, asked about what is long decided. No key is needed for it.
#[derive(Debug)]
pub enum Records {
    /// Of an EVM chain.
    Evm(Fleet<JsonRpc>),
    /// Of TRON.
    Tvm(Fleet<Endpoints>),
}

impl Records {
    /// The nodes that are configured; each says first which chain it is on. Otherwise the fault.
    pub async fn of(config: &FamilyConfig, dial: &dyn Dial) -> Result<Self, String> {
        Ok(match config {
            FamilyConfig::Evm(config) => {
                let fleet = evm::fleet(dial, config).map_err(|fault| fault.to_string())?;
                fleet.verify_all().await;
                Self::Evm(fleet)
            }
            FamilyConfig::Tvm(config) => {
                let fleet = tron_node::fleet(dial, config).map_err(|fault| fault.to_string())?;
                fleet.verify_all().await;
                Self::Tvm(fleet)
            }
        })
    }

    /// The record of a transaction that as many providers as have to agree tell alike: two, where two are
    /// configured. None where they say that they have none.
    pub async fn on_record(&self, transaction: B256) -> Result<Option<TxOnRecord>, NoAgreement> {
        match self {
            Self::Evm(fleet) => evm::on_record(fleet, transaction).await,
            Self::Tvm(fleet) => tron::on_record(fleet, transaction).await,
        }
    }

    /// The block of a transaction on record, from the first node that shows it whole.
    pub async fn block_of(&self, transaction: B256) -> Result<BlockOnRecord, NotShown> {
        match self {
            Self::Evm(fleet) => evm::block_of(fleet, transaction).await,
            Self::Tvm(fleet) => tron::block_of(fleet, transaction).await,
        }
    }
}
