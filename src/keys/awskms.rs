//! A key of AWS KMS (`ECC_SECG_P256K1`), which signs there and never leaves.
//!
//! One question is asked, so this is an HTTP request that is signed as AWS wants it (Signature Version 4),
//! and no SDK.

mod credentials;
mod sigv4;

use super::elsewhere::SigningStore;
use super::store_fault::{StoreError, StoreFault};
use super::web::{StoreReply, Web, send};
use crate::clock::Clock;
use crate::config::{AwsConfig, KmsKey};
use alloy::primitives::B256;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credentials::Wallet;
use reqwest::Url;
use serde::Deserialize;
use std::fmt;

/// The service, as it is called in signatures.
const SERVICE: &str = "kms";

/// The content of a request.
const JSON: &str = "application/x-amz-json-1.1";

/// What is asked.
const SIGN: &str = "TrentService.Sign";

/// One key, and who may use it.
pub(super) struct AwsKms {
    key: KmsKey,
    url: Url,
    web: Web,
    wallet: Wallet,
}

impl AwsKms {
    /// Asks nobody yet.
    pub(super) fn new(key: KmsKey, config: &AwsConfig) -> Result<Self, StoreError> {
        let domain =
            if key.arn.starts_with("arn:aws-cn:") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let usual = format!("https://kms.{}.{domain}", key.region);
        let url = Url::parse(config.kms_url.as_ref().unwrap_or(&usual))
            .map_err(|_| odd("its address is none"))?;
        let web = Web::new(None)?;
        let wallet = Wallet::new(config.credentials.clone(), web.clone());
        Ok(Self { key, url, web, wallet })
    }
}

/// Without credentials.
impl fmt::Debug for AwsKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKms").field("key", &self.key).finish_non_exhaustive()
    }
}

#[async_trait]
impl SigningStore for AwsKms {
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let body = serde_json::json!({
            "KeyId": self.key.arn,
            "Message": STANDARD.encode(digest),
            // Otherwise the digest is hashed again.
            "MessageType": "DIGEST",
            "SigningAlgorithm": "ECDSA_SHA_256",
        });
        let body = body.to_string().into_bytes();
        let credentials = self.wallet.credentials().await?;
        let request = self.web.post(self.url.as_str(), body.clone());
        let stamp = sigv4::SigningStamp::at(Clock::MACHINE.unix_ms(), &self.key.region, SERVICE);
        let headers = [("content-type", JSON), ("x-amz-target", SIGN)];
        let told =
            send(sigv4::sign(request, (&self.url, &body), &headers, &stamp, &credentials)?).await?;
        if told.status != 200 {
            let why = refused(&told);
            if why.fault == StoreFault::Denied {
                self.wallet.forget();
            }
            return Err(why);
        }
        self.read(&told)
    }
}

impl AwsKms {
    fn read(&self, told: &StoreReply) -> Result<k256::ecdsa::Signature, StoreError> {
        let answer: KmsAnswer = serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
        if answer.key_id != self.key.arn {
            return Err(odd("the answer is of another key"));
        }
        let der = STANDARD.decode(&answer.signature).map_err(|_| odd("no base64"))?;
        k256::ecdsa::Signature::from_der(&der).map_err(|_| odd("no DER signature"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KmsAnswer {
    key_id: String,
    signature: String,
}

/// The name of an error; the message beside it may quote the request.
#[derive(Deserialize, Default)]
struct KmsRefusal {
    #[serde(rename = "__type", default)]
    kind: String,
}

/// What a refusal means, by its name before its status.
fn refused(told: &StoreReply) -> StoreError {
    let refusal: KmsRefusal = serde_json::from_slice(&told.body).unwrap_or_default();
    let kind = refusal.kind.rsplit('#').next().unwrap_or_default();
    let known = |kind: &str| match kind {
        "ThrottlingException" | "Throttling" | "LimitExceededException" => Some(StoreFault::Busy),
        "DependencyTimeoutException" | "KMSInternalException" | "KeyUnavailableException" => {
            Some(StoreFault::Down)
        }
        "DisabledException" | "KMSInvalidStateException" => Some(StoreFault::Disabled),
        "NotFoundException" => Some(StoreFault::Missing),
        "AccessDeniedException"
        | "ExpiredTokenException"
        | "IncompleteSignature"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "MissingAuthenticationTokenException"
        | "UnrecognizedClientException" => Some(StoreFault::Denied),
        "InvalidKeyUsageException" | "ValidationException" => Some(StoreFault::Odd),
        _ => None,
    };
    let by_status = match told.status {
        401 | 403 => StoreFault::Denied,
        429 => StoreFault::Busy,
        500..=599 => StoreFault::Down,
        _ => StoreFault::Odd,
    };
    let plain: String = kind.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    StoreError::new(known(kind).unwrap_or(by_status), format!("HTTP {} {plain}", told.status))
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}

#[cfg(test)]
mod tests;
