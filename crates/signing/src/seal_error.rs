//! Why a transaction was not signed.

use alloy::primitives::Address;
use keys::{NotSigned, ProcessFault, SignError, StoreFault};
use policy::Refusal;
use tron_primitives::transaction::Unreadable;

/// Why a transaction was not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The policy does not let its bytes be signed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be made or signed.
    #[error("the transaction could not be signed: {0}")]
    Failed(#[from] SealFault),
}

/// A fault in the making and signing of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// The key gave no signature.
    #[error("the key of {0} gave no signature")]
    NoSignature(Address),
    /// It gave one that does not lead back to it.
    #[error("a signature by the key of {0} does not lead back to that address")]
    WrongSigner(Address),
    /// The key is in a store, and that gave none.
    #[error("the store of the key of {0} gave no signature: {1}")]
    Store(Address, StoreFault),
    /// The key is in another process, and that gave none.
    #[error("the key of {0}: {1}")]
    Process(Address, ProcessFault),
    /// It cannot be written as bytes, or they say something else (TRON).
    #[error(transparent)]
    Bytes(#[from] Unreadable),
    /// Its own bytes cannot be read.
    #[error("its own bytes cannot be read")]
    Unread,
    /// They have another id than what was signed.
    #[error("its own bytes are not what was meant")]
    OtherBytes,
    /// One field of them is another.
    #[error("its {0} is not what was meant")]
    OtherField(&'static str),
}

impl From<SignError> for SealFault {
    fn from(why: SignError) -> Self {
        match why {
            SignError::NoSignature { address } => Self::NoSignature(address),
            SignError::WrongSigner { address } => Self::WrongSigner(address),
            SignError::Store { address, why } => Self::Store(address, why),
            SignError::Process { address, why } => Self::Process(address, why),
        }
    }
}

impl From<NotSigned> for SealError {
    fn from(why: NotSigned) -> Self {
        match why {
            NotSigned::Refused(refusal) => Self::Refused(refusal),
            NotSigned::Failed(why) => Self::Failed(why.into()),
        }
    }
}
