//! The proof of a chain's final blocks, by those who make them.

use super::beacon::{BeaconConfig, root};
use crate::faults::Reported;
use crate::reader::TableReader;
use crate::secret_url::RpcUrl;
use alloy::primitives::B256;

/// The makers of a chain, by whose word its blocks are proven final.
#[derive(Debug, Clone)]
pub enum ProvenBy {
    /// Ethereum's sync committees.
    Committees(BeaconConfig),
    /// The validators of BNB Smart Chain.
    Seals(SealsConfig),
}

/// The block from which the validators of BNB Smart Chain are followed.
#[derive(Debug, Clone)]
pub struct SealsConfig {
    /// The hash of an epoch header that is trusted: of a block whose number 1,000 divides. Younger than seven days
    /// when a machine starts with it.
    pub checkpoint: B256,
}

impl ProvenBy {
    /// Reads `beacon` or `seals` of a chain with this id (EIP-155), never both.
    pub(super) fn read(
        reader: &mut TableReader<'_>,
        eip155_id: Option<u64>,
    ) -> Result<Option<Self>, Reported> {
        let committees = reader
            .has("beacon")
            .then(|| reader.section("beacon", |reader| BeaconConfig::read(reader, eip155_id)));
        let seals = reader.has("seals").then(|| reader.section("seals", SealsConfig::read));
        match (committees.transpose()?, seals.transpose()?) {
            (Some(_), Some(_)) => Err(reader.fault("seals", "stands beside `beacon`; keep one")),
            (Some(beacon), None) => Ok(Some(Self::Committees(beacon))),
            (None, Some(seals)) => Ok(Some(Self::Seals(seals))),
            (None, None) => Ok(None),
        }
    }

    /// Returns the node beside those of the chain that is asked for it.
    pub(super) fn url(&self) -> Option<&RpcUrl> {
        match self {
            Self::Committees(beacon) => Some(&beacon.url),
            Self::Seals(_) => None,
        }
    }

    /// Returns the most requests to a node for one proof while nothing is open.
    pub(super) fn requests(proven_by: Option<&Self>) -> u64 {
        match proven_by {
            Some(Self::Seals(_)) => 280,
            Some(Self::Committees(_)) | None => 0,
        }
    }
}

impl SealsConfig {
    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let checkpoint = reader.get("checkpoint", &root("the hash of an epoch header"))?;
        Ok(Self { checkpoint })
    }
}
