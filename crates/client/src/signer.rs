//! The Signer's own HTTP interface, as its API page describes it: post what is due, ask what became
//! of it, pause and resume.
//!
//! A body is made once ([`BillRequest::body`]) and posted as often as it takes: the same bytes get
//! the same answer. Amounts and ids are exact at any size.

mod answer;
mod status;

pub use answer::{Earlier, Failure, Rehearsal, Retry, Sent, Verdict};
pub use status::{BillingStatus, Outcome, SubscriptionStatus};

use crate::clock::Clock;
use crate::error::CallError;
use crate::full::Full;
use crate::id::{ChainId, SubscriptionId};
use crate::sign::Credentials;
use crate::tls::Tls;
use crate::transport::{Answers, SetupError, Transport, typed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The envelope code of the Signer's success.
pub const SUCCESS: i64 = 1;
/// The envelope code of "one or more cannot be charged".
const REFUSED: i64 = 2;

/// The two kinds of chain that the Signer bills on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Family {
    /// Ethereum and its like.
    Evm,
    /// TRON.
    Tvm,
}

impl Family {
    /// Returns the path that charges on such a chain are posted to.
    pub fn path(self) -> &'static str {
        match self {
            Self::Evm => "/PayTool/EVM/subscribe/signProcessSubscribePlan",
            Self::Tvm => "/PayTool/TVM/subscribe/signProcessSubscribePlan",
        }
    }
}

/// The treatment of a list of which only a part can be charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Every entry or none.
    All,
    /// Those that can be.
    Partial,
}

/// A list to bill: one chain, at most as many entries as the Signer takes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BillRequest<'a> {
    /// 1 to 64 visible ASCII characters; found again by [`SignerClient::billings`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
    /// The treatment of the list if only a part can be charged.
    pub mode: Mode,
    /// Stop before anything is signed.
    pub dry_run: bool,
    /// The entries of the chargeable list, each as it came.
    pub list: &'a [&'a RawValue],
}

impl BillRequest<'_> {
    /// The bytes to post, and to keep until there is a verdict.
    pub fn body(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// The Signer, seen by one of its callers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SignerClient {
    transport: Transport,
}

impl SignerClient {
    /// A client of the Signer at `signer_url`.
    pub fn new(signer_url: &str, credentials: Credentials) -> Result<Self, SetupError> {
        Ok(Self::over(Transport::new(signer_url, credentials, Answers::Signed)?))
    }

    /// A client that asks by this transport.
    pub fn over(transport: Transport) -> Self {
        Self { transport }
    }

    /// Signs by another clock than this machine's.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.transport.clock = clock;
        self
    }

    /// Speaks TLS as `tls` has it: for a Signer whose certificate an authority of one's own has signed, or that asks for
    /// one.
    pub fn with_tls(mut self, tls: &Tls) -> Result<Self, SetupError> {
        self.transport = self.transport.with_tls(tls)?;
        Ok(self)
    }

    /// Gives a request up after `timeout` (15 s unless set; the Signer's own deadline is 10 s).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.transport.timeout = timeout;
        self
    }

    /// Posts a list once. Posting the same bytes again is harmless, and after an error the way to
    /// learn what became of them.
    ///
    /// [`CallError::Refused`] is the Signer's code 0: no verdict on any subscription.
    pub async fn bill(&self, family: Family, body: &str) -> Result<Verdict, CallError> {
        let reply = self.transport.exchange(family.path(), Some(body)).await?;
        let (http_status, ok) = (reply.http_status, (200..300).contains(&reply.http_status));
        match reply.code {
            SUCCESS if ok => typed(http_status, reply.data.as_deref()).map(Verdict::Sent),
            REFUSED if ok => {
                let earlier = reply.earlier.as_deref();
                let earlier = earlier.map_or(Ok(vec![]), |raw| typed(http_status, Some(raw)))?;
                let failed = typed(http_status, reply.data.as_deref())?;
                Ok(Verdict::Refused(failed, earlier))
            }
            0 if ok => match &reply.data {
                Some(data) => typed(http_status, Some(data)).map(Verdict::Rehearsed),
                None => Err(reply.refused()),
            },
            _ => Err(reply.refused()),
        }
    }

    /// Returns the status of the billings with this transaction hash or request id, newest first; empty if the
    /// Signer knows none.
    pub async fn billings(&self, id: &str) -> Result<Vec<Full<BillingStatus>>, CallError> {
        let path = format!("/PayTool/billings/{}", percent_encoded(id));
        let reply = self.transport.exchange(&path, None).await?;
        // A 404 in the Signer's own envelope; one of a proxy on the way has none.
        if reply.http_status == 404 && reply.code == 0 {
            return Ok(vec![]);
        }
        reply.typed_success(SUCCESS)
    }

    /// Every chain with its pause and what is used up of the day's limits.
    pub async fn control(&self) -> Result<Vec<Full<ChainControl>>, CallError> {
        self.transport.exchange("/PayTool/control", None).await?.typed_success(SUCCESS)
    }

    /// Stops new signatures on one chain, or on all. `why` is told to whoever asks why nothing is signed.
    pub async fn pause(
        &self,
        chain: Option<ChainId>,
        why: Option<&str>,
    ) -> Result<Vec<Full<ChainControl>>, CallError> {
        let chain = chain.map(|chain| ("chainId".to_owned(), chain.0.into()));
        let why = why.map(|why| ("why".to_owned(), why.into()));
        let body = Value::Object(chain.into_iter().chain(why).collect()).to_string();
        let reply = self.transport.exchange("/PayTool/control/pause", Some(&body)).await?;
        reply.typed_success(SUCCESS)
    }

    /// Ends the pause of one chain, or of all: those that the Signer tells of now. Somebody who pauses
    /// meanwhile is not overruled; the Signer then refuses the whole.
    pub async fn resume(&self, chain: Option<ChainId>) -> Result<Resumed, CallError> {
        let chains = self.control().await?;
        let meant = chains.iter().filter(|one| chain.is_none_or(|chain| one.chain_id == chain));
        let pauses: Map<String, Value> = meant
            .filter_map(|one| Some((one.chain_id.to_string(), one.paused_since?.into())))
            .collect();
        if pauses.is_empty() {
            return Ok(Resumed { ended: Vec::new(), chains });
        }
        let ended = pauses.keys().cloned().collect();
        let body = json!({ "pauses": pauses }).to_string();
        let reply = self.transport.exchange("/PayTool/control/resume", Some(&body)).await?;
        Ok(Resumed { ended, chains: reply.typed_success(SUCCESS)? })
    }
}

/// The chains after pauses were ended.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The ids of the chains whose pauses were ended.
    pub ended: Vec<String>,
    /// All chains, as they are now.
    pub chains: Vec<Full<ChainControl>>,
}

/// Spells what is not plain in a path as `%` and two hex digits.
fn percent_encoded(id: &str) -> String {
    let spell = |byte: u8| match char::from(byte) {
        plain if plain.is_ascii_alphanumeric() || "-._~".contains(plain) => plain.to_string(),
        _ => format!("%{byte:02X}"),
    };
    id.bytes().map(spell).collect()
}

/// One chain on the Signer's control page.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainControl {
    /// The platform's id.
    pub chain_id: ChainId,
    /// For people.
    pub name: Option<String>,
    /// By whom and since when it is paused, in words, if it is.
    pub paused: Option<String>,
    /// Since when a caller has it paused, Unix milliseconds: what [`SignerClient::resume`] ends it by.
    pub paused_since: Option<i64>,
    /// The limits of the policy, in words.
    #[serde(default)]
    pub policy: String,
    /// The part of the day's limits that is used up, in words.
    #[serde(default)]
    pub spent_in_words: Vec<String>,
}

/// Which subscriptions a verdict is about.
impl Verdict {
    /// The subscriptions that are in the transaction; empty without one.
    pub fn sent(&self) -> &[SubscriptionId] {
        match self {
            Self::Sent(sent) => &sent.subscription_ids,
            Self::Refused(..) | Self::Rehearsed(_) => &[],
        }
    }

    /// The subscriptions that cannot be charged, each with its reason.
    pub fn failures(&self) -> &[Full<Failure>] {
        match self {
            Self::Sent(sent) => &sent.failed,
            Self::Refused(failed, _) => failed,
            Self::Rehearsed(rehearsal) => &rehearsal.failed,
        }
    }
}
