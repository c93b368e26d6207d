//! A Signer that runs, asked from the command line in the name of a configured caller.

use config::{Asking, Caller, Rights};
use reqwest::{Client, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use signer_client::error::CallError;
use signer_client::sign::Credentials;
use signer_client::signer::{SUCCESS, SignerClient};
use signer_client::transport::{Answers, SetupError, Transport};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Longest time for an answer: the Signer takes up to 25 s of it to wait for an event.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A running Signer.
#[derive(Debug)]
pub struct Remote {
    transport: Transport,
}

/// Why a running Signer was not asked, or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Nobody in the configuration may ask for it.
    #[error("no configured caller {0}: describe one in the configuration")]
    NoCaller(&'static str),
    /// The Signer wants a certificate, and there is none for commands.
    #[error(
        "the Signer wants a certificate of its callers: name a file with one and its key as \
         http.tls.identity_file"
    )]
    NoIdentity,
    /// That certificate cannot be used.
    #[error("http.tls.identity_file: {0}")]
    Identity(io::Error),
    /// The address or the caller cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The Signer was not reached.
    #[error("{0}. Does it run there? --server says where else")]
    Unreached(CallError),
    /// No caller signs here, and so nothing could prove an answer from another machine.
    #[error(
        "{server} is not on this machine, and no caller is configured here: nothing could prove its \
         answers. Describe a caller in the configuration"
    )]
    Elsewhere {
        /// Address that was to be asked.
        server: String,
    },
    /// The Signer refused it, or gave no answer.
    #[error(transparent)]
    Call(CallError),
}

impl From<CallError> for RemoteError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unsent { .. } => Self::Unreached(error),
            CallError::Unheard { .. }
            | CallError::ClockOff { .. }
            | CallError::Refused(_)
            | CallError::Unreadable { .. }
            | CallError::Unproven { .. }
            | CallError::Entry { .. } => Self::Call(error),
        }
    }
}

/// The right that a command needs of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteNeed {
    /// Nothing: anybody may ask.
    Nothing,
    /// To read something.
    Read,
    /// To read everything: what lacks something must not look complete.
    ReadAll,
    /// To pause, resume and resolve.
    Control,
}

impl RemoteNeed {
    fn is_met(self, rights: &Rights) -> bool {
        match self {
            Self::Nothing => true,
            Self::Read => rights.read,
            Self::ReadAll => rights.read && rights.chains.is_none(),
            Self::Control => rights.control,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "is there",
            Self::Read => "may read (`read = true`)",
            Self::ReadAll => "sees all of it (`read = true`, and no `chains`)",
            Self::Control => "may control (`control = true`)",
        }
    }
}

impl Remote {
    /// The Signer at `server`, or where the configuration has it listen, asked by a caller who may do what
    /// `need` says: one who may ask for all chains if there is one.
    pub fn new(
        asking: &Asking,
        server: Option<&str>,
        need: RemoteNeed,
    ) -> Result<Self, RemoteError> {
        let mut able: Vec<&Caller> =
            asking.callers.iter().filter(|caller| need.is_met(&caller.rights)).collect();
        able.sort_by_key(|caller| caller.rights.chains.is_some());
        if able.is_empty() && !asking.callers.is_empty() {
            return Err(RemoteError::NoCaller(need.sentence()));
        }
        let tls = asking.tls.as_ref();
        if tls.is_some_and(|tls| !tls.can_be_asked()) {
            return Err(RemoteError::NoIdentity);
        }
        let scheme = if tls.is_some() { "https" } else { "http" };
        let here = || format!("{scheme}://{}", reachable(asking.listen));
        let server = server.map_or_else(here, |server| server.trim_end_matches('/').to_owned());
        let caller = able.first();
        if caller.is_none() && !is_here(&server) {
            return Err(RemoteError::Elsewhere { server });
        }
        let transport = match caller {
            Some(Caller { key, secret, .. }) => {
                let credentials = Credentials { key: key.clone(), secret: secret.clone() };
                Transport::new(&server, credentials, Answers::Signed)?
            }
            None => Transport::unsigned(&server)?,
        };
        let client = Client::builder().no_proxy();
        let client = match tls {
            None => client,
            // The Signer has the very certificate of the configuration, under whatever name.
            Some(tls) => {
                client.tls_backend_preconfigured(tls.client().map_err(RemoteError::Identity)?)
            }
        };
        let mut transport = transport.with_http(client.build().map_err(SetupError::Http)?);
        transport.timeout = TIMEOUT;
        Ok(Self { transport })
    }

    /// The Signer's typed client.
    pub fn signer(&self) -> SignerClient {
        SignerClient::over(self.transport.clone())
    }

    /// Gets the answer of `path`, with its query.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        Ok(self.transport.exchange(path, None).await?.typed_success(SUCCESS)?)
    }

    /// Posts `body` to `path` and returns the answer.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, RemoteError> {
        let reply = self.transport.exchange(path, Some(&body.to_string())).await?;
        Ok(reply.typed_success(SUCCESS)?)
    }

    /// Gets the answer, whatever its status, of a path that needs no signature and has none; `at` is another port
    /// of the Signer.
    pub async fn open<T: DeserializeOwned>(
        &self,
        at: Option<SocketAddr>,
        path: &str,
    ) -> Result<T, RemoteError> {
        let Some(at) = at else { return Ok(self.transport.open(path).await?) };
        let apart = Transport::unsigned(&format!("http://{}", reachable(at)))?;
        Ok(apart.open(path).await?)
    }
}

/// Returns true if a server is on this very machine.
fn is_here(server: &str) -> bool {
    let url = Url::parse(server).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Returns the address at which this machine reaches a server that listens on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}
