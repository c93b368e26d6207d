//! Names made of what they name.

use sha2::{Digest as _, Sha256};

/// The first 16 bytes of a SHA-256, as hex: enough that no two things get one name.
pub(crate) fn short(digest: Sha256) -> String {
    let digest = digest.finalize();
    hex::encode(digest.get(..16).unwrap_or(&digest))
}

/// The same of one text.
pub(crate) fn short_of(text: impl AsRef<[u8]>) -> String {
    short(Sha256::new().chain_update(text))
}
