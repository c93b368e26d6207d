//! A key of AWS KMS (`ECC_SECG_P256K1`), which signs there and never leaves.

use super::aws::Aws;
use super::web::StoreReply;
use alloy::primitives::B256;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::{AwsConfig, KmsKey};
use keys::{SigningStore, StoreError, StoreFault};
use serde::Deserialize;

/// The value or operation asked for.
const SIGN: &str = "TrentService.Sign";

/// One key, and the service that has it.
#[derive(Debug)]
pub(super) struct AwsKms {
    key: KmsKey,
    kms: Aws,
}

impl AwsKms {
    /// Asks nobody yet.
    pub(super) fn new(key: KmsKey, config: &AwsConfig) -> Result<Self, StoreError> {
        let url = config.kms_url.as_ref();
        let kms = Aws::new("kms", &key.arn, &key.region, url, &config.credentials)?;
        Ok(Self { key, kms })
    }

    fn read(&self, told: &StoreReply) -> Result<k256::ecdsa::Signature, StoreError> {
        let answer: KmsAnswer = serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
        if answer.key_id != self.key.arn {
            return Err(odd("the answer is of another key"));
        }
        let der = STANDARD.decode(&answer.signature).map_err(|_| odd("no base64"))?;
        k256::ecdsa::Signature::from_der(&der).map_err(|_| odd("no DER signature"))
    }
}

#[async_trait]
impl SigningStore for AwsKms {
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let question = serde_json::json!({
            "KeyId": self.key.arn,
            "Message": STANDARD.encode(digest),
            // Otherwise the digest is hashed again.
            "MessageType": "DIGEST",
            "SigningAlgorithm": "ECDSA_SHA_256",
        });
        self.read(&self.kms.ask(SIGN, &question).await?)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KmsAnswer {
    key_id: String,
    signature: String,
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}

#[cfg(test)]
mod tests;
