//! Why there is no key, or no signature. Every text names the key and says what to do; none holds
//! any part of a key or a password.

use std::io;
use std::path::PathBuf;

use super::store_fault::{StoreError, StoreFault};
use alloy::primitives::Address;
use policy::Refusal;
use thiserror::Error;

/// Why a key could not be loaded, imported or listed. Every variant means: nothing was signed, and
/// no existing file was changed. `key` is the key's path in the configuration (`chains.139.key`),
/// or its name on the command line.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file or directory is missing, or the operating system refuses to read it.
    #[error("{key}: cannot read {path}: {source}; check the path, and that this user may read it")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    Unreadable { key: String, path: PathBuf, source: io::Error },

    /// The path leads to a directory, socket or device.
    #[error("{key}: {path} is not a regular file; name the file that holds the key")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAFile { key: String, path: PathBuf },

    /// Group or others may read or write the file.
    #[error(
        "{key}: {path} has mode {mode:04o}, so others than its owner can read or write it; run \
         `chmod 600 {path}` (Docker secrets: `mode: 0400`; Kubernetes secrets: `defaultMode: 0400`)"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    TooOpen { key: String, path: PathBuf, mode: u32 },

    /// Another user than this process's and root owns the file.
    #[error(
        "{key}: {path} belongs to uid {owner}, who could replace it; run `chown {user} {path}`"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    WrongOwner { key: String, path: PathBuf, owner: u32, user: u32 },

    /// The file is longer than any key, password or keystore.
    #[error("{key}: {path} is longer than {limit_bytes} bytes; this is not the right file")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    TooLong { key: String, path: PathBuf, limit_bytes: usize },

    /// The text is no private key of secp256k1.
    #[error(
        "{key}: not a private key; give 64 hex digits, with or without 0x, of a number from 1 to \
         the order of secp256k1"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAKey { key: String },

    /// The environment value starts like a JSON map but is not one.
    #[error(
        "{key}: the value is neither one key nor a JSON map such as {{\"{platform_chain_id}\":\
         \"0x...\"}}; every name must be a platform chain id and every value a key in plain text"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAMap { key: String, platform_chain_id: u32 },

    /// The JSON map has no entry for the chain.
    #[error("{key}: the JSON map has no key for platform chain id {platform_chain_id}; add one")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotInMap { key: String, platform_chain_id: u32 },

    /// The JSON map names the chain twice, so which key is meant is anybody's guess.
    #[error("{key}: the JSON map has two keys for platform chain id {platform_chain_id}; keep one")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    TwiceInMap { key: String, platform_chain_id: u32 },

    /// The name could not be a file name, or could lead out of the directory.
    #[error(
        "{key}: {name:?} cannot name a keystore; use 1 to 64 letters, digits, '-', '_' and '.', \
         not starting with '.'"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    BadName { key: String, name: String },

    /// The file is not a V3 keystore, or asks for something that a sound one does not.
    #[error(
        "{key}: {path} is not a usable V3 keystore: {fault}; write it again with \
         `merchant-signer keys import`"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAKeystore { key: String, path: PathBuf, fault: &'static str },

    /// The keystore's checksum does not fit the password.
    #[error(
        "{key}: the password in {password_path} does not open {path}, or one of the two is \
         damaged; put the right password there, or import the key again"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    WrongPassword { key: String, path: PathBuf, password_path: PathBuf },

    /// The keystore holds another key than it says.
    #[error(
        "{key}: {path} says that it holds the key of {stated}, but it holds that of {actual}; \
         find out which one is meant, and import that one again"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    OtherAddress { key: String, path: PathBuf, stated: Address, actual: Address },

    /// The key is printed in the documentation of a development tool: whoever funds it is robbed.
    #[error(
        "{key}: the key of {address} is published with development tools, and everybody can sign \
         with it; use another one, or mark the chain as a test chain"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    TestKey { key: String, address: Address },

    /// The key was read, but its signatures do not verify.
    #[error("{key}: the self-test failed: {source}")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    SelfTest { key: String, source: SignError },

    /// A keystore of that name is there already, and is left as it is.
    #[error("{key}: {path} exists and is never overwritten; choose another name, or move it away")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    Exists { key: String, path: PathBuf },

    /// The password to import with is empty, or longer than a password file may be.
    #[error("{key}: the password must have 1 to 1024 bytes; make one: `openssl rand -base64 24`")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    BadPassword { key: String },

    /// The operating system refuses to write.
    #[error("{key}: cannot write {path}: {source}; check the directory and its free space")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    Unwritable { key: String, path: PathBuf, source: io::Error },

    /// The operating system has no randomness to give.
    #[error("{key}: the operating system gave no random bytes; nothing was written, try again")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NoRandomness { key: String },

    /// A store did not hand the key out.
    #[error("{key}: the store of the key did not hand it out: {source}")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    Store { key: String, source: StoreError },

    /// A file that should hold a token holds none.
    #[error("{key}: {path} does not hold a token; put the one that the store gave there")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAToken { key: String, path: PathBuf },

    /// A file that should hold the PIN of a token holds none.
    #[error("{key}: {path} does not hold a PIN; put that of the token's user there")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotAPin { key: String, path: PathBuf },

    /// The library that speaks with the token is not there, is none, or does not start.
    #[error(
        "{key}: the PKCS#11 module {path} cannot be used: {said}; check keys.pkcs11.module, and that the \
         library is installed where the Signer runs"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NoModule { key: String, path: PathBuf, said: String },

    /// The program was built without it.
    #[error(
        "{key}: this build of the program has no PKCS#11; use the released image, or build it with the \
         feature `pkcs11`"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotBuiltIn { key: String },

    /// The store has another key than the configuration says.
    #[error(
        "{key}: the store has the key of {actual}, and the configuration wants that of {stated}; find out \
         which one is meant"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotPinned { key: String, stated: Address, actual: Address },

    /// The settings of its store are missing.
    #[error("{key}: {what}")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotDescribed { key: String, what: &'static str },

    /// The process that holds the keys did not open it.
    #[error("{said}")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NotOpened { said: String },

    /// There is no process that holds the keys.
    #[error(
        "keys.split: the process that was to hold the keys did not start: {why}; its last words are above, \
         and docs/keys.md (A process of their own) says what it needs"
    )]
    #[expect(missing_docs, reason = "the message says what each field is")]
    NoProcess { why: io::Error },

    /// The process is ending.
    #[error("{key}: opening it was interrupted; start again")]
    #[expect(missing_docs, reason = "the message says what each field is")]
    Interrupted { key: String },
}

/// Why there is no signature. Every variant means: no signature left this module.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SignError {
    /// The arithmetic ended without a signature.
    #[error("the key of {address} gave no signature; do not use this machine for signing")]
    NoSignature {
        /// The address that should have signed.
        address: Address,
    },
    /// The signature does not lead back to the key. A fault of memory or processor; such a
    /// signature can give the key away, so it is dropped.
    #[error(
        "a signature by the key of {address} does not lead back to that address; do not use this machine \
         for signing"
    )]
    WrongSigner {
        /// The address that should have signed.
        address: Address,
    },
    /// The store that has the key gave none.
    #[error("the store of the key of {address} gave no signature: {why}")]
    Store {
        /// The address that should have signed.
        address: Address,
        /// The reason.
        why: StoreFault,
    },
    /// The process that holds the key gave none.
    #[error("the key of {address}: {why}")]
    Process {
        /// The address that should have signed.
        address: Address,
        /// The reason.
        why: ProcessFault,
    },
}

/// Why the other process gave no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProcessFault {
    /// It has ended.
    #[error("the process that holds the key has ended; the Signer ends too, to be started again")]
    Gone,
    /// It does not answer.
    #[error("the process that holds the key does not answer; the Signer ends, to be started again")]
    Silent,
    /// It tried, and the key gave no signature.
    #[error("the key gave none; do not use this machine for signing")]
    Failed,
    /// The batch is too large to be shown to it.
    #[error(
        "the batch is too large to be shown to the process that holds the key: post smaller ones"
    )]
    TooLong,
    /// There is nothing that would show it that the batch was approved once.
    #[error("no attempt of the batch was signed before")]
    NothingBefore,
}

/// Why there is no signature. None has left the keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotSigned {
    /// The process that holds the key refuses it by its own copy of the policy.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is none.
    #[error(transparent)]
    Failed(#[from] SignError),
}
