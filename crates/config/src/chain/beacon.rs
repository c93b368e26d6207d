//! The beacon node by whose answers final blocks of Ethereum are proven.

use crate::faults::Reported;
use crate::kinds::{Expected, rpc_url, word};
use crate::reader::TableReader;
use crate::secret_url::RpcUrl;
use alloy::primitives::B256;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The beacon node of a chain, and the block from which its answers are proven.
#[derive(Debug, Clone)]
pub struct BeaconConfig {
    /// Its REST API.
    pub url: RpcUrl,
    /// The network whose sync committees sign.
    pub network: BeaconNetwork,
    /// The root of a final block that is trusted. Younger than two weeks when a machine starts with it first.
    pub checkpoint: B256,
}

/// A network with sync committees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum BeaconNetwork {
    /// Ethereum's main network.
    Mainnet,
    /// A test network.
    Sepolia,
    /// A test network.
    Hoodi,
}

impl BeaconConfig {
    /// Reads the section of a chain with this id (EIP-155), which tells the network unless the section does.
    pub(super) fn read(
        reader: &mut TableReader<'_>,
        eip155_id: Option<u64>,
    ) -> Result<Self, Reported> {
        let url = reader.get("url", &rpc_url());
        let checkpoint = reader.get("checkpoint", &root("the root of a final block"));
        let network = match (reader.has("network"), eip155_id.and_then(BeaconNetwork::of)) {
            (false, Some(network)) => Ok(network),
            (true, _) | (false, None) => reader.get("network", &word("is none that is known")),
        };
        Ok(Self { url: url?, network: network?, checkpoint: checkpoint? })
    }
}

impl BeaconNetwork {
    /// The network whose execution chain has this id.
    fn of(eip155_id: u64) -> Option<Self> {
        match eip155_id {
            1 => Some(Self::Mainnet),
            11_155_111 => Some(Self::Sepolia),
            560_048 => Some(Self::Hoodi),
            _ => None,
        }
    }
}

/// A block's root or hash.
pub(super) fn root(of: &'static str) -> Expected<B256> {
    let expects = format!("{of}: 0x and 64 hexadecimal digits");
    Expected::of_text(expects, |text| {
        let digits = text.strip_prefix("0x").ok_or("does not begin with 0x")?;
        let digits = Some(digits)
            .filter(|digits| digits.len() == 64)
            .ok_or("has more or fewer than 64 digits")?;
        digits.parse().map_err(|_| "has letters that are no hexadecimal digits")
    })
}
