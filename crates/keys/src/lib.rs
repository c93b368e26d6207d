#![doc = include_str!("../README.md")]

mod ceiling;
mod directory;
mod error;
mod key;
mod keystore;
mod local;
mod lockdown;
mod opening;
pub mod private_file;
mod process_key;
mod protocol;
mod recovery;
mod remote;
mod secret;
mod source;
mod split;
mod store_fault;
mod well_known;

pub use ceiling::{CeilingFault, DayCeiling};
pub use directory::{generate, import, list, random_password};
pub use error::{KeyError, NotSigned, ProcessFault, SignError};
pub use key::Key;
pub use local::{LocalKey, PinnedKey, TestKeys};
pub use lockdown::lock_down;
pub use opening::{NamedKey, OpenKeys};
pub use protocol::{
    Ask, KeyAnswer, KeyQuestion, KeyReply, Manifest, Opened, OpenedAs, Profiles, SignAgain,
    SignBill, WireRefusal, frame, read_frame,
};
pub use remote::{RemoteKey, SigningStore};
pub use secret::Secret;
pub use source::KeySource;
pub use split::{Deaths, SplitKeys};
pub use store_fault::{StoreError, StoreFault};

#[cfg(test)]
mod tests;
