//! A Signer that runs, asked from the command line in the name of a configured caller.

use crate::auth::{
    self, AnswerParts, KEY_HEADER, SIGN_HEADER, SignedParts, TIMESTAMP_HEADER, UnprovenAnswer,
    verify_answer,
};
use config::{Asking, Caller, Rights};
use host::clock::Clock;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A running Signer.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    server: String,
    caller: Option<Caller>,
}

/// Why a running Signer was not asked, or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Nobody in the configuration may ask for it.
    #[error("no configured caller {0}: describe one in the configuration")]
    NoCaller(&'static str),
    /// It wants a certificate, and there is none for commands.
    #[error(
        "the Signer wants a certificate of its callers: name a file with one and its key as \
         http.tls.identity_file"
    )]
    NoIdentity,
    /// That certificate cannot be used.
    #[error("http.tls.identity_file: {0}")]
    Identity(io::Error),
    /// It was not reached.
    #[error(
        "the Signer at {server} cannot be asked: {problem}. Does it run there? --server says where else"
    )]
    Unreached {
        /// Address that was asked.
        server: String,
        /// The failure.
        problem: reqwest::Error,
    },
    /// It answered something else than a Signer does.
    #[error("what answers at {server} is no Signer of this version: {problem}")]
    Unreadable {
        /// Address that was asked.
        server: String,
        /// The part that cannot be read.
        problem: serde_json::Error,
    },
    /// The answer is not proven to be the Signer's.
    #[error(
        "what answers at {server} (HTTP {status}) does not prove to be the Signer: {why}. That is no \
         answer: what became of the question is not known, ask again. {said}"
    )]
    Unproven {
        /// Address that was asked.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The fault in the proof.
        why: UnprovenAnswer,
        /// The answer's message, if it has one in a Signer's form.
        said: String,
    },
    /// No caller signs here, and so nothing could prove an answer from another machine.
    #[error(
        "{server} is not on this machine, and no caller is configured here: nothing could prove its \
         answers. Describe a caller in the configuration"
    )]
    Elsewhere {
        /// Address that was to be asked.
        server: String,
    },
    /// It did not do it.
    #[error("the Signer at {server} says: {msg}")]
    Refused {
        /// The location.
        server: String,
        /// Its words.
        msg: String,
    },
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

/// An answer as it came back, before any of it is read.
struct RawAnswer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct AnswerHead {
    code: u8,
    msg: String,
}

#[derive(Deserialize)]
struct AnswerData<T> {
    data: T,
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
        let caller = able.first().copied().cloned();
        if caller.is_none() && !is_here(&server) {
            return Err(RemoteError::Elsewhere { server });
        }
        let client = Client::builder().no_proxy();
        let client = match tls {
            None => client,
            // It has the very certificate of the configuration, under whatever name.
            Some(tls) => {
                client.tls_backend_preconfigured(tls.client().map_err(RemoteError::Identity)?)
            }
        };
        let client = client.build();
        let client =
            client.map_err(|problem| RemoteError::Unreached { server: server.clone(), problem })?;
        Ok(Self { client, server, caller })
    }

    /// Gets the answer of `path`, with its query.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.told(Method::GET, path, String::new()).await
    }

    /// Posts `body` to `path` and returns the answer.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<T, RemoteError> {
        self.told(Method::POST, path, body.to_string()).await
    }

    async fn told<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<T, RemoteError> {
        let request = self.client.request(method.clone(), format!("{}{path}", self.server));
        let answer = match &self.caller {
            Some(caller) => {
                let (request, sign) = signed(caller, request, (&method, path), body);
                let answer = self.heard(request).await?;
                self.prove(caller, &sign, &answer)?;
                answer
            }
            None => self.heard(request.body(body)).await?,
        };
        let AnswerHead { code, msg } = self.read(&answer.body)?;
        if code != 1 {
            return Err(RemoteError::Refused { server: self.server.clone(), msg });
        }
        Ok(self.read::<AnswerData<T>>(&answer.body)?.data)
    }

    /// Gets the answer, whatever its status, of a path that needs no signature and has none; `at` is another port
    /// of the Signer.
    pub async fn open<T: DeserializeOwned>(
        &self,
        at: Option<SocketAddr>,
        path: &str,
    ) -> Result<T, RemoteError> {
        let server =
            at.map_or_else(|| self.server.clone(), |at| format!("http://{}", reachable(at)));
        let answer = self.heard(self.client.get(format!("{server}{path}"))).await?;
        self.read(&answer.body)
    }

    async fn heard(&self, request: RequestBuilder) -> Result<RawAnswer, RemoteError> {
        let answer = async {
            let answer = request.send().await?;
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            Ok(RawAnswer { status, headers, body: answer.bytes().await?.to_vec() })
        };
        answer
            .await
            .map_err(|problem| RemoteError::Unreached { server: self.server.clone(), problem })
    }

    /// That the Signer has made this answer, to the request with this signature.
    fn prove(&self, caller: &Caller, sign: &str, answer: &RawAnswer) -> Result<(), RemoteError> {
        let header = |name: &str| {
            let mut all = answer.headers.get_all(name).iter();
            all.next().filter(|_| all.next().is_none()).and_then(|value| value.to_str().ok())
        };
        let parts = AnswerParts {
            request_sign: sign,
            timestamp: header(TIMESTAMP_HEADER),
            sign: header(SIGN_HEADER),
            status: answer.status,
            body: &answer.body,
        };
        verify_answer(&caller.secret, &parts, unix_seconds()).map_err(|why| {
            let said = serde_json::from_slice::<AnswerHead>(&answer.body);
            RemoteError::Unproven {
                server: self.server.clone(),
                status: answer.status,
                why,
                said: said.map(|said| format!("It says: {}", said.msg)).unwrap_or_default(),
            }
        })
    }

    fn read<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, RemoteError> {
        serde_json::from_slice(answer)
            .map_err(|problem| RemoteError::Unreadable { server: self.server.clone(), problem })
    }
}

/// The request in the name of a caller, and its signature.
fn signed(
    caller: &Caller,
    request: RequestBuilder,
    (method, path): (&Method, &str),
    body: String,
) -> (RequestBuilder, String) {
    let timestamp = unix_seconds().to_string();
    let parts = SignedParts {
        key: Some(&caller.key),
        timestamp: Some(&timestamp),
        sign: None,
        method: method.as_str(),
        path_and_query: path,
        body: body.as_bytes(),
    };
    let sign = auth::sign(&caller.secret, &parts);
    let request = request
        .header(KEY_HEADER, &caller.key)
        .header(SIGN_HEADER, &sign)
        .header(TIMESTAMP_HEADER, timestamp)
        .body(body);
    (request, sign)
}

fn unix_seconds() -> i64 {
    Clock::MACHINE.unix_ms().div_euclid(1000)
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
