//! The requests to stores over HTTP: no proxy, no redirect, one short answer, which is wiped.

use keys::{StoreError, StoreFault};
use reqwest::{Certificate, Client, RequestBuilder, redirect};
use std::error::Error as _;
use std::time::Duration;
use zeroize::Zeroizing;

/// Time limit for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for an answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest answer that a store has to give, bytes.
const LONGEST: usize = 64 << 10;

/// A way to a store.
#[derive(Clone, Debug)]
pub(super) struct Web(Client);

/// The answer of a store.
pub(super) struct StoreReply {
    pub(super) status: u16,
    pub(super) body: Zeroizing<Vec<u8>>,
}

impl Web {
    /// Trusts public authorities; instead of them those in `authorities` (PEM), where there are any.
    pub(super) fn new(authorities: Option<&[u8]>) -> Result<Self, StoreError> {
        let odd = |_| StoreError::new(StoreFault::Unreachable, "its authority cannot be read");
        let mut client = Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .redirect(redirect::Policy::none());
        if let Some(pem) = authorities {
            client = client.tls_certs_only(Certificate::from_pem_bundle(pem).map_err(odd)?);
        }
        Ok(Self(client.build().map_err(odd)?))
    }

    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.0.get(url)
    }

    pub(super) fn put(&self, url: &str) -> RequestBuilder {
        self.0.put(url)
    }

    pub(super) fn post(&self, url: &str, body: Vec<u8>) -> RequestBuilder {
        self.0.post(url).body(body)
    }
}

/// Sends a request. An answer of any status is one.
pub(super) async fn send(request: RequestBuilder) -> Result<StoreReply, StoreError> {
    let mut response = request.send().await.map_err(|error| no_answer(&error))?;
    let status = response.status().as_u16();
    // Never grows: growing would leave copies.
    let mut body = Zeroizing::new(Vec::with_capacity(LONGEST));
    while let Some(chunk) = response.chunk().await.map_err(|error| no_answer(&error))? {
        if body.len().saturating_add(chunk.len()) > LONGEST {
            return Err(StoreError::new(StoreFault::Odd, "its answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(StoreReply { status, body })
}

/// The client's own text holds the address and is dropped; its innermost cause says what happened.
fn no_answer(error: &reqwest::Error) -> StoreError {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|cause| cause.source()) {
        cause = Some(inner);
    }
    let said = cause.map_or_else(|| "no answer".to_owned(), ToString::to_string);
    let fault = if error.is_connect() { StoreFault::Unreachable } else { StoreFault::Silent };
    StoreError::new(fault, said)
}
