//! The bytes of a private key on their way into memory, and the wiping of the stack that they passed.

use alloy::primitives::B256;
use std::fmt;
use std::hint::black_box;
use zeroize::{Zeroize as _, Zeroizing};

/// 32 bytes that may be a private key. Boxed before they are filled, so that a move leaves no bytes behind; wiped on
/// drop. Outside this crate nothing but a [`LocalKey`](crate::LocalKey) can be made of them.
pub struct Secret(Box<Zeroizing<[u8; 32]>>);

impl Secret {
    /// 32 zeros, to be filled.
    pub(crate) fn empty() -> Self {
        Self(Box::new(Zeroizing::new([0; 32])))
    }

    /// Reads hex with or without 0x, straight into a buffer that is wiped. White space around it does not count.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
        let mut secret = Self::empty();
        hex::decode_to_slice(digits, secret.as_mut_slice()).ok()?;
        Some(secret)
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        self.0.as_mut_slice()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The digest that a key signs as a test. No transaction has this hash.
pub(crate) const SELF_TEST_DIGEST: B256 = B256::repeat_byte(0x5a);

/// Overwrites the stretch of stack that the call before this one used: arithmetic on a key leaves
/// copies there that no destructor reaches. `tests::a_dropped_key_is_nowhere_in_memory` measures
/// that the stretch is long enough.
#[inline(never)]
pub(crate) fn scrub_stack() {
    let mut stretch = [0xff_u8; 16 * 1024];
    stretch.zeroize();
    black_box(&stretch);
}
