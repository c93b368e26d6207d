//! The faults of a store of keys.

use std::fmt;
use strum::{EnumIter, IntoStaticStr};

/// The fault of a store. The sentences tell the operator what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum StoreFault {
    /// There is no connection to it.
    #[error("it cannot be reached: check the network, its address and its certificate")]
    Unreachable,
    /// It did not answer in time.
    #[error("it does not answer: check the store and the network")]
    Silent,
    /// It takes no more requests for now.
    #[error("it takes no more requests at present: raise its quota, or bill in fewer transactions")]
    Busy,
    /// It says that it is out of order.
    #[error("it is out of order: look at the store")]
    Down,
    /// It does not let us in.
    #[error("it does not let the Signer use the key: check its credentials and what they may do")]
    Denied,
    /// The token refuses its PIN, or would lock it.
    #[error(
        "its token refuses the PIN, or is about to lock it: see to the token, then to the PIN's file"
    )]
    Pin,
    /// The key is there, and switched off.
    #[error("the key is disabled, or is to be deleted: enable it")]
    Disabled,
    /// There is no such key.
    #[error("it does not know the key: check the name in the configuration")]
    Missing,
    /// Its answer cannot be read, or contradicts itself.
    #[error(
        "its answer cannot be used: check that this is the store, and that the key is of secp256k1"
    )]
    Odd,
    /// The store's signature does not lead back to the address.
    #[error("its signature is by another key, or of something else: check the name of the key")]
    OtherKey,
}

impl StoreFault {
    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the fault that an HTTP status of failure means, if nothing else tells.
    pub fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Denied,
            429 => Self::Busy,
            500..=599 => Self::Down,
            _ => Self::Odd,
        }
    }

    /// Returns true if the same question may be answered in a moment.
    pub(super) fn is_worth_a_try(self) -> bool {
        match self {
            Self::Unreachable
            | Self::Silent
            | Self::Busy
            | Self::Down
            | Self::Odd
            | Self::OtherKey => true,
            Self::Denied | Self::Pin | Self::Disabled | Self::Missing => false,
        }
    }

    /// Returns true if a process may start despite the fault: the configuration can be right all the same. After a
    /// refused PIN the process has to start: its supervisor would otherwise start it again, and each start would
    /// try the PIN.
    pub fn may_pass(self) -> bool {
        match self {
            Self::Unreachable
            | Self::Silent
            | Self::Busy
            | Self::Down
            | Self::Pin
            | Self::Disabled => true,
            Self::Denied | Self::Missing | Self::Odd | Self::OtherKey => false,
        }
    }
}

/// Why a store gave no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} ({message})")]
pub struct StoreError {
    /// The fault.
    pub fault: StoreFault,
    /// The store's message, for the log: no secret, and no more than a line.
    pub message: String,
}

impl StoreError {
    /// Of a fault, with the words of whoever reported it.
    pub fn new(fault: StoreFault, message: impl fmt::Display) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        Self { fault, message: message.to_string().chars().map(plain).take(300).collect() }
    }
}
