//! A list that is given out in numbered pages, read whole while it changes.
//!
//! Numbered pages shift: when an entry disappears, those after it move to the page before, and a
//! reader who goes forward misses one. So a pass goes from the last page to the first, where a
//! removal only repeats an entry; and because an insertion can still hide one, passes are made until
//! one brings nothing new.

use crate::error::CallError;
use crate::full::Full;
use crate::types::{Chargeable, Subscription};
use futures_util::{Stream, stream};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::value::RawValue;
use std::collections::{HashSet, VecDeque};

/// The most entries that the platform puts on one page.
pub const LARGEST_PAGE: u64 = 500;
/// So many passes are made over a list that never stands still.
const MOST_PASSES: u32 = 5;

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Number of entries in the whole list, as far as the platform says.
    pub count: Option<u64>,
    /// Number of entries on a full page, as far as the platform says.
    pub size: Option<u64>,
    /// The entries; one that cannot be read is the reason why.
    pub list: Vec<Result<Full<T>, CallError>>,
}

/// An entry of a list.
pub trait Listed: DeserializeOwned {
    /// Returns the id that makes an entry the same on two pages; `None`: only its whole text does.
    fn id(&self) -> Option<i64>;
}

impl Listed for Chargeable {
    fn id(&self) -> Option<i64> {
        Some(self.subscribe_id.0)
    }
}

impl Listed for Subscription {
    fn id(&self) -> Option<i64> {
        self.subscription_id.map(|id| id.0)
    }
}

/// A page as it travels: an object around a list, or the bare list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    page: Option<u64>,
    #[serde(default)]
    size: Option<u64>,
    /// Without it nothing is said of who is on the list.
    list: Vec<Box<RawValue>>,
}

impl Wire {
    fn bare(list: Vec<Box<RawValue>>) -> Self {
        Self { count: None, page: None, size: None, list }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let wire = if raw.get().starts_with('[') {
            serde_json::from_str(raw.get()).map(Wire::bare)
        } else {
            serde_json::from_str(raw.get())
        };
        let wire = wire.map_err(D::Error::custom)?;
        let page = wire.page.unwrap_or(1);
        let read = |raw| {
            Full::from_raw(raw).map_err(|error| CallError::Entry { page, why: error.to_string() })
        };
        let list = wire.list.into_iter().map(read).collect();
        Ok(Self { count: wire.count, size: wire.size.filter(|size| *size > 0), list })
    }
}

/// Every entry of the list that `fetch` gives a page of, once.
pub(super) fn walk<T, F, R>(fetch: F) -> impl Stream<Item = Result<Full<T>, CallError>> + Send
where
    T: Listed + Send,
    F: Fn(u64) -> R + Send,
    R: Future<Output = Result<Page<T>, CallError>> + Send,
{
    let walk = Walk {
        fetch,
        seen: HashSet::new(),
        ready: VecDeque::new(),
        next: Next::Begin,
        passes: 0,
        fresh: 0,
    };
    stream::unfold(walk, |mut walk| async move { Some((walk.entry().await?, walk)) })
}

/// The position of a walk in the list.
#[derive(Clone, Copy)]
enum Next {
    /// Before a pass.
    Begin,
    /// Looking for the last page.
    Last(Search),
    /// On the way back, with this page to read next.
    Page(u64),
    /// After the last pass.
    Done,
}

/// A search for the last page: the platform's count may lie, or be old.
#[derive(Clone, Copy)]
struct Search {
    /// Number of entries on a full page.
    size: usize,
    /// The furthest page known to have entries.
    low: u64,
    /// The first page known to have none, if any is.
    end: Option<u64>,
    /// The page to look at.
    probe: u64,
}

struct Walk<T, F> {
    fetch: F,
    seen: HashSet<Key>,
    ready: VecDeque<Result<Full<T>, CallError>>,
    next: Next,
    passes: u32,
    /// New entries in this pass.
    fresh: usize,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(i64),
    Text(String),
}

impl<T, F, R> Walk<T, F>
where
    T: Listed,
    F: Fn(u64) -> R,
    R: Future<Output = Result<Page<T>, CallError>>,
{
    async fn entry(&mut self) -> Option<Result<Full<T>, CallError>> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(entry);
            }
            self.next = match self.step().await {
                Ok(Next::Done) if self.ready.is_empty() => return None,
                Ok(next) => next,
                Err(error) => {
                    self.next = Next::Done;
                    return Some(Err(error));
                }
            };
        }
    }

    async fn step(&mut self) -> Result<Next, CallError> {
        Ok(match self.next {
            Next::Begin => self.begin((self.fetch)(1).await?)?,
            Next::Last(search) => {
                let found = (self.fetch)(search.probe).await?;
                let length = self.take(found);
                search.after(length)
            }
            Next::Page(0) => self.end_of_pass(),
            Next::Page(page) => {
                let found = (self.fetch)(page).await?;
                self.take(found);
                Next::Page(page.saturating_sub(1))
            }
            Next::Done => Next::Done,
        })
    }

    fn begin(&mut self, first: Page<T>) -> Result<Next, CallError> {
        self.fresh = 0;
        self.passes = self.passes.saturating_add(1);
        let (count, largest) =
            (first.count.unwrap_or_default(), first.size.unwrap_or(LARGEST_PAGE));
        let length = self.take(first);
        let entries = u64::try_from(length).unwrap_or(u64::MAX);
        if length == 0 && count > 0 {
            // The last entry may have gone between the two; what stays so is no list that is empty.
            let why = format!("the list has {count} entries, and its first page none");
            let error = CallError::Unreadable { http_status: 200, why };
            return if self.passes < MOST_PASSES { Ok(Next::Begin) } else { Err(error) };
        }
        if length == 0 || (entries >= count && entries < largest) {
            // The whole list came in one answer.
            return Ok(if self.passes == 1 { Next::Done } else { self.end_of_pass() });
        }
        // A first page that is not the last one is as long as pages are.
        let probe = count.div_ceil(entries).max(2);
        Ok(Next::Last(Search { size: length, low: 1, end: None, probe }))
    }

    fn end_of_pass(&self) -> Next {
        if self.fresh == 0 || self.passes >= MOST_PASSES { Next::Done } else { Next::Begin }
    }

    /// Makes what is new ready, and tells how many entries the page had.
    fn take(&mut self, page: Page<T>) -> usize {
        let length = page.list.len();
        for entry in page.list {
            let key = match &entry {
                Ok(full) => {
                    full.id().map_or_else(|| Key::Text(full.raw().get().to_owned()), Key::Id)
                }
                Err(error) => Key::Text(error.to_string()),
            };
            if self.seen.insert(key) {
                self.fresh = self.fresh.saturating_add(1);
                self.ready.push_back(entry);
            }
        }
        length
    }
}

impl Search {
    /// Returns the next step after the probed page had `length` entries.
    fn after(mut self, length: usize) -> Next {
        if length > 0 && length < self.size {
            return Next::Page(self.probe.saturating_sub(1));
        }
        if length == 0 {
            self.end = Some(self.probe);
        } else {
            self.low = self.probe;
        }
        let next = self.low.saturating_add(1);
        self.probe = match self.end {
            Some(end) if next >= end => return Next::Page(self.low.saturating_sub(1)),
            Some(end) => self.low.midpoint(end),
            None => next,
        };
        Next::Last(self)
    }
}

#[cfg(test)]
mod tests;
