//! Why a node does not take a transaction: code and text of `api.Return`.

/// The codes of `api.Return`, by their names in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Signature or permission.
    Sigerror,
    /// The contract's own validation.
    ContractValidateError,
    /// Execution or billing failed.
    ContractExeError,
    /// Bandwidth or another fee cannot be paid.
    BandwithError,
    /// Known already, or said to be.
    DupTransactionError,
    /// The reference block is not on this node's chain.
    TaposError,
    /// Above 500 KiB.
    TooBigTransactionError,
    /// Expiration outside the window.
    TransactionExpirationError,
    /// The pool is full.
    ServerBusy,
    /// No peers.
    NoConnection,
    /// Too few peers, or none took it.
    NotEnoughEffectiveConnection,
    /// Too many blocks wait to be solid.
    BlockUnsolidified,
    /// Anything else.
    OtherError,
}

impl Code {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sigerror => "SIGERROR",
            Self::ContractValidateError => "CONTRACT_VALIDATE_ERROR",
            Self::ContractExeError => "CONTRACT_EXE_ERROR",
            Self::BandwithError => "BANDWITH_ERROR",
            Self::DupTransactionError => "DUP_TRANSACTION_ERROR",
            Self::TaposError => "TAPOS_ERROR",
            Self::TooBigTransactionError => "TOO_BIG_TRANSACTION_ERROR",
            Self::TransactionExpirationError => "TRANSACTION_EXPIRATION_ERROR",
            Self::ServerBusy => "SERVER_BUSY",
            Self::NoConnection => "NO_CONNECTION",
            Self::NotEnoughEffectiveConnection => "NOT_ENOUGH_EFFECTIVE_CONNECTION",
            Self::BlockUnsolidified => "BLOCK_UNSOLIDIFIED",
            Self::OtherError => "OTHER_ERROR",
        }
    }
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The text.
    pub message: String,
}

impl Refusal {
    /// A refusal with the node's own text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// `CONTRACT_VALIDATE_ERROR` with its prefix.
    pub fn contract(message: &str) -> Self {
        Self::new(Code::ContractValidateError, format!("Contract validate error : {message}"))
    }

    /// SIGERROR with its prefix.
    pub fn signature(message: &str) -> Self {
        Self::new(Code::Sigerror, format!("Validate signature error: {message}"))
    }

    /// `BANDWITH_ERROR`.
    pub fn resources() -> Self {
        Self::new(Code::BandwithError, "Account resource insufficient error.")
    }

    /// `TRANSACTION_EXPIRATION_ERROR`.
    pub fn expired() -> Self {
        Self::new(Code::TransactionExpirationError, "Transaction expired")
    }

    /// `DUP_TRANSACTION_ERROR` of a transaction that is in the pool or on the chain.
    pub fn duplicate() -> Self {
        Self::new(Code::DupTransactionError, "Dup transaction.")
    }
}
