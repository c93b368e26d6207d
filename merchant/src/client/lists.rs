//! The lists: chains, currencies, subscriptions, and what is due.

use super::pages::{self, Page};
use super::{Client, LARGEST_PAGE};
use crate::error::CallError;
use crate::full::Full;
use crate::types::{Chain, ChainId, Chargeable, Currency, CurrencyId, Subscription};
use futures_util::Stream;
use reqwest::Url;

/// The path of the chain list.
pub(super) const CHAINS: &str = "/api/mer/conf/list/chain";
const CHARGEABLE: &str = "/api/mer/subscribe/chargeable/list";
const SUBSCRIPTIONS: &str = "/api/mer/subscribe/list";

impl Client {
    /// The chains of the platform, with its own ids for them.
    pub async fn chains(&self) -> Result<Vec<Full<Chain>>, CallError> {
        self.read(CHAINS).await
    }

    /// The currencies of one chain.
    pub async fn currencies(&self, chain: ChainId) -> Result<Vec<Full<Currency>>, CallError> {
        let path = query("/api/mer/conf/list/currency", &[("chainId", &chain.to_string())]);
        self.read(&path).await
    }

    /// One currency of one chain; `None` if the chain has no such currency.
    pub async fn currency(
        &self,
        chain: ChainId,
        currency: CurrencyId,
    ) -> Result<Option<Full<Currency>>, CallError> {
        let currencies = self.currencies(chain).await?;
        Ok(currencies.into_iter().find(|known| known.currency_id == currency))
    }

    /// 4.2: one page of what is due; pages count from 1, and have at most [`LARGEST_PAGE`] entries.
    pub async fn chargeable_page(
        &self,
        page: u64,
        size: u64,
    ) -> Result<Page<Chargeable>, CallError> {
        self.read(&page_of(CHARGEABLE, page, size)).await
    }

    /// 4.2: everything that is due, each subscription once, although the list changes meanwhile.
    ///
    /// The stream reads the pages from the last to the first and passes over the list again until a pass brings
    /// nothing new, so that an entry that moved to another page is not missed. A subscription that becomes due
    /// during the last pass comes with the next stream. A [`CallError::Entry`] does not end the stream; any other
    /// error does.
    pub fn chargeable(
        &self,
    ) -> impl Stream<Item = Result<Full<Chargeable>, CallError>> + Send + '_ {
        pages::walk(move |page| self.chargeable_page(page, LARGEST_PAGE))
    }

    /// One page of all subscriptions.
    pub async fn subscription_page(
        &self,
        page: u64,
        size: u64,
    ) -> Result<Page<Subscription>, CallError> {
        self.read(&page_of(SUBSCRIPTIONS, page, size)).await
    }

    /// All subscriptions, each once; like [`Client::chargeable`].
    pub fn subscriptions(
        &self,
    ) -> impl Stream<Item = Result<Full<Subscription>, CallError>> + Send + '_ {
        pages::walk(move |page| self.subscription_page(page, LARGEST_PAGE))
    }
}

fn page_of(path: &str, page: u64, size: u64) -> String {
    let size = size.clamp(1, LARGEST_PAGE);
    query(path, &[("page", &page.to_string()), ("size", &size.to_string())])
}

/// The path with its query, percent-encoded: the very text that is signed and sent.
pub(super) fn query(path: &str, pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://unused") else { return path.to_owned() };
    url.query_pairs_mut().extend_pairs(pairs);
    format!("{path}?{}", url.query().unwrap_or_default())
}
