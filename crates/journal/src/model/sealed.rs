//! A transaction that is signed and not committed.

use billing::{Item, Signed};
use std::fmt;

/// A transaction that is signed for one position and for these charges, and for nothing else. Nobody can
/// read it: the one way out leads through the commit that takes both. Dropped, it never was.
pub struct Sealed {
    pub(crate) position: u64,
    pub(crate) items: Vec<Item>,
    pub(crate) signed: Signed,
}

impl Sealed {
    /// Of a transaction that was signed for `position`, and whose final bytes charge `items`.
    pub fn new(position: u64, items: &[Item], signed: Signed) -> Self {
        Self { position, items: items.to_vec(), signed }
    }
}

/// Without the bytes.
impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} items at position {})", self.items.len(), self.position)
    }
}
