//! A key that lies in Vault or `OpenBao`, in a KV engine of version 2: fetched once, when it is loaded. From
//! then on the key is here, and nobody asks the store for anything.

use super::export::{self, SecretFields};
use super::web::{StoreReply, Web, send};
use config::{VaultConfig, VaultLogin, VaultProof, VaultSecret};
use keys::{KeyError, Secret, StoreError, StoreFault, private_file};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::borrow::Cow;
use std::fs;
use std::path::Path;

/// The longest token, bytes. Those of Kubernetes are long.
const TOKEN_LIMIT: usize = 16 << 10;

/// Logs in, and fetches the key.
pub(super) async fn fetch(
    secret: &VaultSecret,
    server: &VaultConfig,
    key: &str,
) -> Result<Secret, KeyError> {
    let proof = VaultIdentity::read(&server.login, key)?;
    let authorities = server.ca_file.as_deref().map(|path| open_file(path, key)).transpose()?;
    let store = |source| KeyError::Store { key: key.to_owned(), source };
    let web = Web::new(authorities.as_deref()).map_err(store)?;
    let fetched = export::patiently(|| fetch_once(&web, secret, server, &proof)).await;
    fetched.map_err(store)
}

/// The proof of our identity, read from its file.
enum VaultIdentity {
    Token(SecretString),
    Login { mount: String, body: SecretString },
}

impl VaultIdentity {
    fn read(login: &VaultLogin, key: &str) -> Result<Self, KeyError> {
        let closed = |path: &Path| {
            let bytes = private_file::read(path, key, TOKEN_LIMIT)?;
            text(&bytes, path, key)
        };
        Ok(match login {
            VaultLogin::Token(file) => Self::Token(closed(file)?),
            VaultLogin::Role { mount, proof } => {
                let (name, value, field, secret) = match proof {
                    VaultProof::SecretId { role_id, file } => {
                        ("role_id", role_id, "secret_id", closed(file)?)
                    }
                    // Everybody in a pod may read it.
                    VaultProof::Kubernetes { role, file } => {
                        ("role", role, "jwt", text(&open_file(file, key)?, file, key)?)
                    }
                };
                #[expect(clippy::disallowed_methods, reason = "the one request that carries it")]
                let body = serde_json::json!({ name: value, field: secret.expose_secret() });
                Self::Login { mount: mount.clone(), body: body.to_string().into() }
            }
        })
    }
}

fn open_file(path: &Path, key: &str) -> Result<Vec<u8>, KeyError> {
    let unreadable =
        |source| KeyError::Unreadable { key: key.to_owned(), path: path.into(), source };
    fs::read(path).map_err(unreadable)
}

fn text(bytes: &[u8], path: &Path, key: &str) -> Result<SecretString, KeyError> {
    let text = std::str::from_utf8(bytes.trim_ascii())
        .ok()
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()));
    let (key, path) = (key.to_owned(), path.to_owned());
    text.map(SecretString::from).ok_or(KeyError::NotAToken { key, path })
}

async fn fetch_once(
    web: &Web,
    secret: &VaultSecret,
    server: &VaultConfig,
    proof: &VaultIdentity,
) -> Result<Secret, StoreError> {
    let token = match proof {
        VaultIdentity::Token(token) => token.clone(),
        VaultIdentity::Login { mount, body } => login(web, server, mount, body).await?,
    };
    let VaultSecret { mount, path, field } = secret;
    let request = web.get(&format!("{}/v1/{mount}/data/{path}", server.url));
    #[expect(clippy::disallowed_methods, reason = "the one header that carries it")]
    let request = request.header("X-Vault-Token", sensitive(token.expose_secret())?);
    let told = send(in_namespace(request, server)).await?;
    if told.status != 200 {
        return Err(refused(&told, "reading the secret"));
    }
    let answer: VaultAnswer<'_> = serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
    // A version that was deleted is answered with 404, by some with 200 and no data.
    let fields = answer.data.and_then(|outer| outer.data);
    let fields = fields.ok_or_else(|| missing("that version of the secret was deleted"))?;
    export::field(&fields, field)
}

/// A value of a header that is shown nowhere.
fn sensitive(value: &str) -> Result<reqwest::header::HeaderValue, StoreError> {
    let mut value = reqwest::header::HeaderValue::from_str(value).map_err(|_| odd("no token"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn in_namespace(request: reqwest::RequestBuilder, server: &VaultConfig) -> reqwest::RequestBuilder {
    match &server.namespace {
        Some(namespace) => request.header("X-Vault-Namespace", namespace),
        None => request,
    }
}

/// A token for a role.
async fn login(
    web: &Web,
    server: &VaultConfig,
    mount: &str,
    body: &SecretString,
) -> Result<SecretString, StoreError> {
    #[expect(clippy::disallowed_methods, reason = "the one request that carries it")]
    let body = body.expose_secret().as_bytes().to_vec();
    let request = web.post(&format!("{}/v1/auth/{mount}/login", server.url), body);
    let told = send(in_namespace(request, server)).await?;
    if told.status != 200 {
        return Err(refused(&told, "logging in"));
    }
    let answer: VaultAnswer<'_> = serde_json::from_slice(&told.body).map_err(|_| odd("no JSON"))?;
    let token = answer.auth.ok_or_else(|| odd("no token"))?.client_token;
    Ok(SecretString::from(token.into_owned()))
}

/// The parts of Vault's answer that are read.
#[derive(Deserialize)]
struct VaultAnswer<'t> {
    #[serde(borrow)]
    data: Option<Version<'t>>,
    #[serde(borrow)]
    auth: Option<Auth<'t>>,
}

#[derive(Deserialize)]
struct Version<'t> {
    #[serde(borrow)]
    data: Option<SecretFields<'t>>,
}

#[derive(Deserialize)]
struct Auth<'t> {
    #[serde(borrow)]
    client_token: Cow<'t, str>,
}

/// Returns the error that a status means. The body is not quoted: it may hold what was sent.
fn refused(told: &StoreReply, doing: &str) -> StoreError {
    let fault = match told.status {
        400 | 401 | 403 => StoreFault::Denied,
        404 => StoreFault::Missing,
        429 => StoreFault::Busy,
        // Standby and sealed servers, and those that have a fault.
        472 | 473 | 500..=599 => StoreFault::Down,
        _ => StoreFault::Odd,
    };
    StoreError::new(fault, format!("{doing}: HTTP status {}", told.status))
}

fn odd(said: &str) -> StoreError {
    StoreError::new(StoreFault::Odd, said)
}

fn missing(said: &str) -> StoreError {
    StoreError::new(StoreFault::Missing, said)
}

#[cfg(test)]
mod tests;
