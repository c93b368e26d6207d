//! stub
use std::path::PathBuf;
/// Journal.
#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Path.
    pub path: PathBuf,
    /// Bytes.
    pub min_free_bytes: u64,
    /// Jobs.
    pub queue_length: usize,
}
