//! Our identity towards AWS: from the environment, from a container's endpoint, or from the machine's metadata.

use crate::cache::{Cache, Lasting};
use crate::web::{StoreReply, Web, send};
use config::AwsCredentialSource;
use jiff::Timestamp;
use keys::{StoreError, StoreFault};
use reqwest::header::AUTHORIZATION;
use reqwest::{RequestBuilder, Url};
use secrecy::SecretString;
use serde::Deserialize;
use std::sync::Arc;

/// Time before their end at which credentials are fetched anew, ms.
const EARLY_MS: i64 = 300_000;

/// Doors of credentials that may be asked without TLS: they are on this machine.
const LOCAL: [&str; 6] =
    ["127.0.0.1", "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// The credentials that a request is signed with.
pub(super) struct Credentials {
    pub(super) id: String,
    pub(super) secret: SecretString,
    pub(super) token: Option<SecretString>,
}

/// The source of credentials, and those that are known.
pub(super) struct Wallet {
    source: AwsCredentialSource,
    web: Web,
    known: Cache<Credentials>,
}

impl Wallet {
    pub(super) fn new(source: AwsCredentialSource, web: Web) -> Self {
        Self { source, web, known: Cache::early(EARLY_MS) }
    }

    /// Credentials that have not ended.
    pub(super) async fn credentials(&self) -> Result<Arc<Lasting<Credentials>>, StoreError> {
        self.known.or(self.fetch()).await
    }

    /// They were refused: the next request gets others.
    pub(super) fn forget(&self) {
        self.known.forget();
    }

    async fn fetch(&self) -> Result<Lasting<Credentials>, StoreError> {
        match &self.source {
            AwsCredentialSource::Fixed { id, secret, token } => {
                let (id, secret, token) = (id.clone(), secret.clone(), token.clone());
                Ok(Lasting { value: Credentials { id, secret, token }, until_ms: None })
            }
            AwsCredentialSource::Container { url, token_file } => {
                let parsed =
                    Url::parse(url).map_err(|_| denied("the door of credentials is no address"))?;
                let here = parsed.host_str().is_some_and(|host| LOCAL.contains(&host));
                if parsed.scheme() != "https" && !here {
                    return Err(denied("the door of credentials is neither encrypted nor local"));
                }
                let mut request = self.web.get(url);
                if let Some(file) = token_file {
                    // It is written anew from time to time.
                    let token = std::fs::read_to_string(file)
                        .map_err(|_| denied("the file of the container's token cannot be read"))?;
                    request = request.header(AUTHORIZATION, token.trim());
                }
                read(&asked(request).await?)
            }
            AwsCredentialSource::Machine { url } => self.of_machine(url).await,
        }
    }

    async fn of_machine(&self, url: &str) -> Result<Lasting<Credentials>, StoreError> {
        let request = self.web.put(&format!("{url}/latest/api/token"));
        let token = asked(request.header("X-aws-ec2-metadata-token-ttl-seconds", "300")).await?;
        let ask = async |path: &str| {
            let request = self.web.get(&format!("{url}/latest/meta-data/iam/{path}"));
            asked(request.header("X-aws-ec2-metadata-token", token.body.as_slice())).await
        };
        let role = ask("security-credentials/").await?;
        let role = std::str::from_utf8(&role.body).unwrap_or_default().lines().next();
        let role = role.ok_or_else(|| denied("the machine has no role"))?;
        read(&ask(&format!("security-credentials/{role}")).await?)
    }
}

async fn asked(request: RequestBuilder) -> Result<StoreReply, StoreError> {
    let told = send(request).await?;
    match told.status {
        200 => Ok(told),
        500..=599 => {
            Err(StoreError::new(StoreFault::Down, "the door of credentials is out of order"))
        }
        status => Err(denied(&format!("the door of credentials says HTTP {status}"))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CredentialDocument {
    access_key_id: String,
    secret_access_key: SecretText,
    token: Option<SecretText>,
    expiration: Option<String>,
}

/// Text that goes straight into a secret.
struct SecretText(SecretString);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self(text.into()))
    }
}

fn read(told: &StoreReply) -> Result<Lasting<Credentials>, StoreError> {
    let document: CredentialDocument = serde_json::from_slice(&told.body)
        .map_err(|_| denied("the door of credentials gives none"))?;
    let until: Option<Timestamp> = document.expiration.and_then(|text| text.parse().ok());
    let value = Credentials {
        id: document.access_key_id,
        secret: document.secret_access_key.0,
        token: document.token.map(|token| token.0),
    };
    Ok(Lasting { value, until_ms: until.map(Timestamp::as_millisecond) })
}

fn denied(said: &str) -> StoreError {
    StoreError::new(StoreFault::Denied, said)
}
