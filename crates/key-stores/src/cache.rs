//! Things that are asked for now and then and used until they end: credentials, and tokens.

use host::clock::Clock;
use keys::StoreError;
use parking_lot::Mutex;
use std::sync::Arc;

/// A value and its end (Unix ms); a value without a stated end lasts for ever.
pub(super) struct Lasting<T> {
    pub(super) value: T,
    pub(super) until_ms: Option<i64>,
}

/// The last one that was given.
pub(super) struct Cache<T> {
    known: Mutex<Option<Arc<Lasting<T>>>>,
    /// Time before the end of one value at which another is asked for, ms.
    early_ms: i64,
}

impl<T> Cache<T> {
    pub(super) const fn early(early_ms: i64) -> Self {
        Self { known: Mutex::new(None), early_ms }
    }

    /// One that has not ended. One that ends soon is used as long as `fetch` gives no other.
    pub(super) async fn or(
        &self,
        fetch: impl Future<Output = Result<Lasting<T>, StoreError>>,
    ) -> Result<Arc<Lasting<T>>, StoreError> {
        let now_ms = Clock::MACHINE.unix_ms();
        let known = self.known.lock().clone();
        let lasts = |more_ms: i64| {
            known.clone().filter(|one| {
                one.until_ms.is_none_or(|until| until.saturating_sub(more_ms) > now_ms)
            })
        };
        if let Some(good) = lasts(self.early_ms) {
            return Ok(good);
        }
        match fetch.await {
            Ok(fetched) => {
                let fetched = Arc::new(fetched);
                *self.known.lock() = Some(Arc::clone(&fetched));
                Ok(fetched)
            }
            Err(failure) => lasts(0).ok_or(failure),
        }
    }

    /// It was refused: the next request gets another.
    pub(super) fn forget(&self) {
        *self.known.lock() = None;
    }
}
