//! The networks that chains of the configuration stand for.

use alloy::primitives::Address;
use billing::{Family, PeriodNaming, PlatformChainId, spell_address};
use std::fmt;

/// A network, whatever the platform calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its family.
    pub family: Family,
    /// Its EIP-155 id; on TRON, the last four bytes of its genesis block's id.
    pub id: u64,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::Evm => write!(f, "the EVM chain with the id {} of EIP-155", self.id),
            Family::Tvm => write!(f, "the TRON chain {:#010x}", self.id),
        }
    }
}

/// A chain of the configuration, as far as claims depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The platform's id.
    pub chain: PlatformChainId,
    /// The network that the id stands for.
    pub network: Network,
    /// The contract that is billed through.
    pub contract: Address,
    /// The naming of the periods of its charges.
    pub naming: PeriodNaming,
}

/// Why a chain of the configuration is not one that the journal knows. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misbound {
    /// The id stands for another network.
    #[error(
        "the journal keeps claims of {before} under [chains.{chain}], which is now {now}: give the \
         new network an id of its own, or a journal of its own"
    )]
    Network {
        /// The platform's id.
        chain: PlatformChainId,
        /// The value that the journal knows.
        before: Network,
        /// The value in the configuration.
        now: Network,
    },
    /// The network has another id.
    #[error(
        "the journal keeps the claims of {network} under [chains.{before}], and the configuration \
         calls it [chains.{chain}]: charges would be forgotten. Use the id {before} again, or move \
         all of them: `merchant-signer networks rename {before} {chain} --why \"…\"`"
    )]
    Chain {
        /// The network.
        network: Network,
        /// The id in the journal.
        before: PlatformChainId,
        /// The id in the configuration.
        chain: PlatformChainId,
    },
    /// Another contract is billed through.
    #[error(
        "the journal knows that chains.{chain} is billed through {}, and the configuration says {}: the new \
         contract knows no claim of the old one, so whoever was charged by the old one can be charged again. Put \
         the old one back, or say that it is meant: `merchant-signer networks accept {chain} --why \"…\"`",
        spell_address(*family, *before),
        spell_address(*family, *now)
    )]
    Contract {
        /// The platform's id.
        chain: PlatformChainId,
        /// Its family.
        family: Family,
        /// The value that the journal knows.
        before: Address,
        /// The value in the configuration.
        now: Address,
    },
    /// The periods of the contract's charges were named otherwise.
    #[error(
        "the journal knows that charges of chains.{chain} are told apart by {before}, and the configuration has \
         them told apart by {now}: whoever was charged for a period under the old name can be charged for it \
         again under the new one. Put the old one back, or say that it is meant: \
         `merchant-signer networks accept {chain} --why \"…\"`"
    )]
    Naming {
        /// The platform's id.
        chain: PlatformChainId,
        /// The value that the journal knows.
        before: PeriodNaming,
        /// The value in the configuration.
        now: PeriodNaming,
    },
}

impl Misbound {
    /// Returns the statement in a file of claims that is not so in this journal.
    pub(crate) fn of_a_file(&self) -> String {
        match self {
            Self::Contract { chain, before, now, .. } => {
                format!("chain {chain} bills through {before} here, and not {now}")
            }
            Self::Naming { chain, before, now } => {
                format!(
                    "charges of chain {chain} are told apart by {before} here, and by {now} there"
                )
            }
            Self::Network { .. } | Self::Chain { .. } => self.to_string(),
        }
    }
}
