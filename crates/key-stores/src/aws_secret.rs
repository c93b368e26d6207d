//! A key that lies in AWS Secrets Manager, as the text of a secret or in a field of it.

use super::aws::Aws;
use super::export::{self, SecretFields};
use config::{AwsConfig, AwsSecret};
use keys::{Secret, StoreError, StoreFault};
use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// Name of the operation. The answer is the current version.
const GET: &str = "secretsmanager.GetSecretValue";

/// Fetches the key.
pub(super) async fn fetch(secret: &AwsSecret, config: &AwsConfig) -> Result<Secret, StoreError> {
    let url = config.secrets_url.as_ref();
    let store = Aws::new("secretsmanager", &secret.arn, &secret.region, url, &config.credentials)?;
    export::patiently(|| fetch_once(&store, secret)).await
}

async fn fetch_once(store: &Aws, secret: &AwsSecret) -> Result<Secret, StoreError> {
    let told = store.ask(GET, &serde_json::json!({ "SecretId": secret.arn })).await?;
    let answer: SecretAnswer<'_> =
        serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
    if answer.arn != secret.arn {
        return Err(odd("the answer is of another secret"));
    }
    let text = answer.secret_string.ok_or_else(|| odd("the secret is no text"))?;
    let text = unescaped(text.get()).ok_or_else(|| odd("the secret is no plain text"))?;
    match &secret.field {
        None => Secret::from_hex(&text).ok_or_else(|| odd("the secret is no private key in hex")),
        Some(name) => {
            let fields: SecretFields<'_> =
                serde_json::from_slice(&text).map_err(|_| odd("the secret has no fields"))?;
            export::field(&fields, name)
        }
    }
}

/// The parts of an answer that are read; the secret points into it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SecretAnswer<'t> {
    #[serde(rename = "ARN")]
    arn: String,
    #[serde(borrow)]
    secret_string: Option<&'t RawValue>,
}

/// The text of a JSON string, in a buffer that is wiped: a parser would leave it in one of its own. Only
/// what texts with a key in them are written with.
fn unescaped(json: &str) -> Option<Zeroizing<Vec<u8>>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    // Never grows: growing would leave copies.
    let mut text = Zeroizing::new(Vec::with_capacity(inner.len()));
    let mut bytes = inner.bytes();
    while let Some(byte) = bytes.next() {
        text.push(if byte == b'\\' {
            match bytes.next()? {
                plain @ (b'"' | b'\\' | b'/') => plain,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                _ => return None,
            }
        } else {
            byte
        });
    }
    Some(text)
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}

#[cfg(test)]
mod tests;
