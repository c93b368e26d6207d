//! Vault or `OpenBao`, which hands keys out.

use super::{Custody, LONGEST, StoreForm, StoreName, web_address};
use crate::faults::Reported;
use crate::kinds::{path, text};
use crate::reader::TableReader;
use std::path::PathBuf;

pub(super) const SECRET: StoreForm = StoreForm {
    scheme: "vault",
    forms: &["<mount>/<path>#<field>"],
    read: |text| secret(text).map(StoreName::Vault),
    problem: "is no <mount>/<path>#<field>",
    custody: Custody::Exports,
    variables: &[],
};

/// The file in which a pod finds the token of its service account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A value in a KV version 2 engine of Vault or `OpenBao`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultSecret {
    /// Path at which the engine is mounted.
    pub mount: String,
    /// The path of the secret in it.
    pub path: String,
    /// Which of its fields.
    pub field: String,
}

/// A server of Vault or `OpenBao`.
#[derive(Debug, Clone)]
pub struct VaultConfig {
    /// `https://`, or `http://` on a loopback address. Without a slash at its end.
    pub url: String,
    /// The namespace, where the server has any.
    pub namespace: Option<String>,
    /// The certificates of the authority that signed the server's, where that is no public one.
    pub ca_file: Option<PathBuf>,
    /// Login of the Signer.
    pub login: VaultLogin,
}

/// The way in which the Signer tells Vault who it is.
#[derive(Debug, Clone)]
pub enum VaultLogin {
    /// By a token in a file.
    Token(PathBuf),
    /// By a role.
    Role {
        /// Path at which the auth method is mounted.
        mount: String,
        /// Which field of the login proves it.
        proof: VaultProof,
    },
}

/// The proof of a role.
#[derive(Debug, Clone)]
pub enum VaultProof {
    /// `AppRole`.
    SecretId {
        /// The id of the role.
        role_id: String,
        /// The file with the secret id.
        file: PathBuf,
    },
    /// The service account of a pod.
    Kubernetes {
        /// The name of the role.
        role: String,
        /// The file with the service account's token.
        file: PathBuf,
    },
}

impl VaultConfig {
    /// Reads `[keys.vault]`; none if no server is described.
    pub(crate) fn read(reader: &mut TableReader<'_>) -> Result<Option<Self>, Reported> {
        let word = |what: &str| text(what, LONGEST);
        let url = reader.optional("url", &web_address());
        let namespace = reader.optional("namespace", &word("the name of a namespace"));
        let ca_file = reader.optional("ca_file", &path("the path of a PEM file"));
        let token = reader.optional("token_file", &path("the path of a file with a token"));
        let role_id = reader.optional("role_id", &word("the id of an AppRole"));
        let secret_id =
            reader.optional("secret_id_file", &path("the path of a file with a secret id"));
        let role = reader.optional("kubernetes_role", &word("the name of a role"));
        let mount = reader.optional("auth_mount", &word("where the auth method is mounted"));
        let (token, role_id, secret_id) = (token?, role_id?, secret_id?);
        let (role, mount, url) = (role?, mount?, url?);
        let (namespace, ca_file) = (namespace?, ca_file?);
        let at = |usual: &str| mount.clone().unwrap_or_else(|| usual.to_owned());
        let login = match (token, role_id, secret_id, role) {
            (None, None, None, None) if url.is_none() => return Ok(None),
            (Some(file), None, None, None) => VaultLogin::Token(file),
            (None, Some(role_id), Some(file), None) => VaultLogin::Role {
                mount: at("approle"),
                proof: VaultProof::SecretId { role_id, file },
            },
            (None, None, None, Some(role)) => {
                let proof = VaultProof::Kubernetes { role, file: PathBuf::from(POD_TOKEN) };
                VaultLogin::Role { mount: at("kubernetes"), proof }
            }
            _ => {
                return Err(reader.fault(
                    "token_file",
                    "say in one way who the Signer is: token_file, or role_id and secret_id_file, or \
                     kubernetes_role",
                ));
            }
        };
        let url =
            url.ok_or_else(|| reader.fault("url", "missing; expected the address of the server"))?;
        Ok(Some(Self { url, namespace, ca_file, login }))
    }
}

fn secret(text: &str) -> Option<VaultSecret> {
    let (place, field) = text.rsplit_once('#')?;
    let (mount, path) = place.split_once('/')?;
    let segment = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !matches!(part, "" | "." | "..") && part.bytes().all(plain)
    };
    let good = segment(mount) && segment(field) && path.split('/').all(segment);
    let [mount, path, field] = [mount, path, field].map(str::to_owned);
    good.then_some(VaultSecret { mount, path, field })
}
