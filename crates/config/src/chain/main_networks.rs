//! The networks on which money is, known by the ids that tell chains apart: what is good enough for a
//! chain on this machine is a fault there.

use super::evm::Finality;
use billing::Family;

/// A depth that is no finality on any of them, whatever one thinks of larger ones.
const SHALLOW: u64 = 64;

/// Their EIP-155 ids; of TRON, the last four bytes of the genesis block's id.
const KNOWN: [(Family, u64, &str); 14] = [
    (Family::Evm, 1, "Ethereum"),
    (Family::Evm, 10, "OP Mainnet"),
    (Family::Evm, 25, "Cronos"),
    (Family::Evm, 56, "BNB Chain"),
    (Family::Evm, 100, "Gnosis"),
    (Family::Evm, 137, "Polygon"),
    (Family::Evm, 250, "Fantom"),
    (Family::Evm, 324, "zkSync Era"),
    (Family::Evm, 5000, "Mantle"),
    (Family::Evm, 8453, "Base"),
    (Family::Evm, 42_161, "Arbitrum One"),
    (Family::Evm, 42_220, "Celo"),
    (Family::Evm, 43_114, "Avalanche"),
    (Family::Tvm, 0x2b66_53dc, "TRON"),
];

/// The name of the main network with this id, if it is one.
pub(super) fn named(family: Family, id: u64) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.0, known.1) == (family, id)).map(|known| known.2)
}

/// Returns the objection to a depth of finality on a main network, if there is one.
pub(super) fn objection(network: &str, finality: Finality) -> Option<String> {
    match finality {
        Finality::Depth(depth @ ..SHALLOW) => Some(format!(
            "{depth} blocks can be undone on {network}, and claims would be released for charges that \
             land again; write \"finalized\""
        )),
        Finality::Depth(_) | Finality::FinalizedTag => None,
    }
}
