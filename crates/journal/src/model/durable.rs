//! The proof that bytes may leave the process.

/// Proof that what is inside is on disk. Only the journal can make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durable<T>(pub(crate) T);

impl<T> Durable<T> {
    /// Returns the value that is on disk.
    pub fn get(&self) -> &T {
        &self.0
    }
}

impl<T> AsRef<T> for Durable<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}
