//! A key of Google Cloud KMS (`EC_SIGN_SECP256K1_SHA256`), which signs there and never leaves.
//!
//! Both ways are guarded by checksums, as Google asks for it: a digest that was changed on the way is not
//! signed, and a signature that was changed is not used.

use super::cache::{Cache, Lasting};
use super::web::{StoreReply, Web, send};
use alloy::primitives::B256;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::{GcpConfig, GcpKey};
use crc::{CRC_32_ISCSI, Crc};
use host::clock::Clock;
use keys::{SigningStore, StoreError, StoreFault};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::fmt;

/// Castagnoli's.
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Time before its end at which a token is fetched anew, ms: the metadata server gives the same one until then.
const EARLY_MS: i64 = 225_000;

/// Path of the request for a token.
const TOKEN_PATH: &str = "computeMetadata/v1/instance/service-accounts/default/token";

/// One version of a key, and who may use it.
pub(super) struct GcpKms {
    key: GcpKey,
    config: GcpConfig,
    web: Web,
    token: Cache<SecretString>,
}

impl GcpKms {
    /// Asks nobody yet.
    pub(super) fn new(key: GcpKey, config: GcpConfig) -> Result<Self, StoreError> {
        Ok(Self { key, config, web: Web::new(None)?, token: Cache::early(EARLY_MS) })
    }

    /// A token of the service account that this machine, or this pod, runs as.
    async fn fetch_token(&self) -> Result<Lasting<SecretString>, StoreError> {
        let request = self.web.get(&format!("{}/{TOKEN_PATH}", self.config.metadata_url));
        let told = send(request.header("Metadata-Flavor", "Google")).await?;
        match told.status {
            200 => {}
            500..=599 => {
                return Err(StoreError::new(
                    StoreFault::Down,
                    "the metadata server is out of order",
                ));
            }
            status => return Err(denied(&format!("the metadata server says HTTP {status}"))),
        }
        let answer: TokenAnswer<'_> = serde_json::from_slice(&told.body)
            .map_err(|_| denied("the metadata server gives no token"))?;
        let lasts_ms = answer.expires_in.saturating_mul(1000);
        Ok(Lasting {
            value: answer.access_token.into(),
            until_ms: Some(Clock::MACHINE.unix_ms().saturating_add(lasts_ms)),
        })
    }

    fn read(&self, told: &StoreReply) -> Result<k256::ecdsa::Signature, StoreError> {
        let answer: GcpAnswer = serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
        if answer.name != self.key.0 {
            return Err(odd("the answer is of another key"));
        }
        if !answer.verified_digest_crc32c {
            return Err(odd("it did not check the digest that it got"));
        }
        let der = STANDARD.decode(&answer.signature).map_err(|_| odd("no base64"))?;
        if answer.signature_crc32c != CRC32C.checksum(&der).to_string() {
            return Err(odd("the signature was changed on its way"));
        }
        k256::ecdsa::Signature::from_der(&der).map_err(|_| odd("no DER signature"))
    }
}

/// Without the token.
impl fmt::Debug for GcpKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpKms").field("key", &self.key).finish_non_exhaustive()
    }
}

#[async_trait]
impl SigningStore for GcpKms {
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let question = serde_json::json!({
            // It is not hashed again, whatever hash it is of.
            "digest": { "sha256": STANDARD.encode(digest) },
            "digestCrc32c": CRC32C.checksum(digest.as_slice()).to_string(),
        });
        let token = self.token.or(self.fetch_token()).await?;
        let url = format!("{}/v1/{}:asymmetricSign", self.config.url, self.key.0);
        let request = self
            .web
            .post(&url, question.to_string().into_bytes())
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, bearer(&token.value)?);
        let told = send(request).await?;
        if told.status == 200 {
            return self.read(&told);
        }
        let why = refused(&told);
        if why.fault == StoreFault::Denied {
            self.token.forget();
        }
        Err(why)
    }
}

/// A header that is shown nowhere.
fn bearer(token: &SecretString) -> Result<HeaderValue, StoreError> {
    #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
    let value = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut value = value.map_err(|_| denied("the token is no text"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Deserialize)]
struct TokenAnswer<'t> {
    access_token: &'t str,
    /// s
    expires_in: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GcpAnswer {
    name: String,
    signature: String,
    /// A number of 64 bits, which JSON of Google writes as text.
    signature_crc32c: String,
    /// Left out where it is not so.
    #[serde(default)]
    verified_digest_crc32c: bool,
}

/// The name of an error; the message beside it may quote the request.
#[derive(Deserialize, Default)]
struct GcpRefusal {
    #[serde(default)]
    error: GcpStatus,
}

#[derive(Deserialize, Default)]
struct GcpStatus {
    #[serde(default)]
    status: String,
}

/// Returns the error for a refusal, by its name before its status.
fn refused(told: &StoreReply) -> StoreError {
    let refusal: GcpRefusal = serde_json::from_slice(&told.body).unwrap_or_default();
    let known = match refusal.error.status.as_str() {
        "RESOURCE_EXHAUSTED" => Some(StoreFault::Busy),
        // A version that is disabled, or destroyed, or not made yet.
        "FAILED_PRECONDITION" => Some(StoreFault::Disabled),
        "NOT_FOUND" => Some(StoreFault::Missing),
        "PERMISSION_DENIED" | "UNAUTHENTICATED" => Some(StoreFault::Denied),
        "UNAVAILABLE" | "INTERNAL" | "DEADLINE_EXCEEDED" | "ABORTED" => Some(StoreFault::Down),
        _ => None,
    };
    let fault = known.unwrap_or(StoreFault::of_status(told.status));
    let plain = |c: &char| c.is_ascii_uppercase() || *c == '_';
    let name: String = refusal.error.status.chars().filter(plain).take(60).collect();
    StoreError::new(fault, format!("HTTP {} {name}", told.status))
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}

fn denied(said: &str) -> StoreError {
    StoreError::new(StoreFault::Denied, said)
}

#[cfg(test)]
mod tests;
