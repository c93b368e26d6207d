//! A service of AWS that is asked in JSON, by whoever the environment says that we are.
//!
//! Few questions are asked, so each is an HTTP request that is signed as AWS wants it (Signature Version 4),
//! and no SDK.

mod credentials;
mod sigv4;

use super::web::{StoreReply, Web, send};
use config::AwsCredentialSource;
use credentials::Wallet;
use host::clock::Clock;
use keys::{StoreError, StoreFault};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// The content of a request.
const JSON: &str = "application/x-amz-json-1.1";

/// A service in a region.
pub(super) struct Aws {
    /// As it is called in signatures, and in its address.
    service: &'static str,
    region: String,
    url: Url,
    web: Web,
    wallet: Wallet,
}

impl Aws {
    /// The `service` that has what `arn` names, in `region`; at `url`, if that is not the usual one. Asks
    /// nobody yet.
    pub(super) fn new(
        service: &'static str,
        arn: &str,
        region: &str,
        url: Option<&String>,
        credentials: &AwsCredentialSource,
    ) -> Result<Self, StoreError> {
        let domain =
            if arn.starts_with("arn:aws-cn:") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let usual = format!("https://{service}.{region}.{domain}");
        let url = Url::parse(url.unwrap_or(&usual)).map_err(|_| odd("its address is none"))?;
        let web = Web::new(None)?;
        let wallet = Wallet::new(credentials.clone(), web.clone());
        Ok(Self { service, region: region.to_owned(), url, web, wallet })
    }

    /// Sends `body` to the service and returns the answer, if it is no refusal. `target` names the operation.
    pub(super) async fn ask(&self, target: &str, body: &Value) -> Result<StoreReply, StoreError> {
        let body = body.to_string().into_bytes();
        let credentials = self.wallet.credentials().await?;
        let request = self.web.post(self.url.as_str(), body.clone());
        let now = Clock::MACHINE.unix_ms();
        let stamp = sigv4::SigningStamp::at(now, &self.region, self.service);
        let headers = [("content-type", JSON), ("x-amz-target", target)];
        let told =
            send(sigv4::sign(request, &self.url, &body, &headers, &stamp, &credentials.value)?)
                .await?;
        if told.status == 200 {
            return Ok(told);
        }
        let why = refused(&told);
        if why.fault == StoreFault::Denied {
            self.wallet.forget();
        }
        Err(why)
    }
}

/// Without credentials.
impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aws").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// The name of an error; the message beside it may quote the request.
#[derive(Deserialize, Default)]
struct AwsRefusal {
    #[serde(rename = "__type", default)]
    kind: String,
}

/// Returns the error for a refusal, by its name before its status.
fn refused(told: &StoreReply) -> StoreError {
    let refusal: AwsRefusal = serde_json::from_slice(&told.body).unwrap_or_default();
    let kind = refusal.kind.rsplit('#').next().unwrap_or_default();
    let known = |kind: &str| match kind {
        "ThrottlingException" | "Throttling" | "LimitExceededException" => Some(StoreFault::Busy),
        "DependencyTimeoutException"
        | "InternalServiceError"
        | "KMSInternalException"
        | "KeyUnavailableException" => Some(StoreFault::Down),
        // The second is what the secret's store says of one that is to be deleted.
        "DisabledException" | "InvalidRequestException" | "KMSInvalidStateException" => {
            Some(StoreFault::Disabled)
        }
        "NotFoundException" | "ResourceNotFoundException" => Some(StoreFault::Missing),
        "AccessDeniedException"
        | "DecryptionFailure"
        | "ExpiredTokenException"
        | "IncompleteSignature"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "MissingAuthenticationTokenException"
        | "UnrecognizedClientException" => Some(StoreFault::Denied),
        "InvalidKeyUsageException" | "InvalidParameterException" | "ValidationException" => {
            Some(StoreFault::Odd)
        }
        _ => None,
    };
    let fault = known(kind).unwrap_or(StoreFault::of_status(told.status));
    let plain: String = kind.chars().filter(char::is_ascii_alphanumeric).take(60).collect();
    StoreError::new(fault, format!("HTTP {} {plain}", told.status))
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}
