//! The places of keys: the directory of keystores, and how stores elsewhere are reached.

use super::faults::Reported;
use super::kinds::{Expected, flag, path, text};
use super::layers::Environment;
use super::reader::TableReader;
use secrecy::SecretString;
use std::path::PathBuf;

/// The longest name or address of anything of a store, bytes.
const LONGEST: usize = 512;

/// The file in which a pod finds the token of its service account.
const POD_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The variables that systemd and clouds set for the processes that they start.
pub(super) const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
const ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";
const DOOR: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const DOOR_PATH: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const DOOR_TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const METADATA: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
const GCP_METADATA: &str = "GCE_METADATA_HOST";

/// Returns true if a variable of the process concerns a store of keys.
pub(super) fn is_of_a_store(name: &str) -> bool {
    [CREDENTIALS_DIRECTORY, ID, SECRET, TOKEN, DOOR, DOOR_PATH, DOOR_TOKEN, METADATA, GCP_METADATA]
        .contains(&name)
}

/// The places where keys are.
#[derive(Debug, Clone)]
pub struct KeysConfig {
    /// The directory in which `keystore:<name>` is looked up.
    pub directory: PathBuf,
    /// True if a separate process holds the keys that are not in a store which signs itself.
    pub split: bool,
    /// Socket of that process, if it is a service of its own; none if the Signer starts it.
    pub socket: Option<PathBuf>,
    /// File in which that process counts what it has signed on a day. Beside the journal unless stated.
    pub ceiling_file: PathBuf,
    /// The store of `vault:`; none where it is not described.
    pub vault: Option<VaultConfig>,
    /// Settings for reaching `awskms:` and `awssecret:`.
    pub aws: AwsConfig,
    /// Settings for reaching `gcpkms:`.
    pub gcp: GcpConfig,
    /// The token of `pkcs11:`; none where it is not described.
    pub pkcs11: Option<Pkcs11Config>,
}

/// The settings for reaching Google Cloud.
#[derive(Debug, Clone)]
pub struct GcpConfig {
    /// The key management service. Without a slash at its end.
    pub url: String,
    /// The metadata server, which says who this machine is (`GCE_METADATA_HOST`).
    pub metadata_url: String,
}

/// A token of PKCS#11, and how one logs in to it.
#[derive(Debug, Clone)]
pub struct Pkcs11Config {
    /// The library of its maker.
    pub module: PathBuf,
    /// Its label.
    pub token: String,
    /// The file with the PIN of its user.
    pub pin_file: PathBuf,
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

/// The settings for reaching AWS.
#[derive(Debug, Clone)]
pub struct AwsConfig {
    /// Instead of the region's own address.
    pub kms_url: Option<String>,
    /// Likewise, of its store of secrets.
    pub secrets_url: Option<String>,
    /// Source of the credentials.
    pub credentials: AwsCredentialSource,
}

/// The source of credentials for AWS: the first of these that the environment names.
#[derive(Debug, Clone)]
pub enum AwsCredentialSource {
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and perhaps `AWS_SESSION_TOKEN`.
    Fixed {
        /// The id.
        id: String,
        /// The secret.
        secret: SecretString,
        /// The token of a session.
        token: Option<SecretString>,
    },
    /// `AWS_CONTAINER_CREDENTIALS_FULL_URI` or `_RELATIVE_URI`: ECS, and EKS with pod identities.
    Container {
        /// URL that is asked.
        url: String,
        /// The file of the token that is shown there (`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`).
        token_file: Option<PathBuf>,
    },
    /// The machine itself, by its metadata service (version 2).
    Machine {
        /// URL of the metadata service (`AWS_EC2_METADATA_SERVICE_ENDPOINT`).
        url: String,
    },
}

impl KeysConfig {
    pub(super) fn read(
        reader: &mut TableReader<'_>,
        environment: &Environment,
        beside_the_journal: PathBuf,
    ) -> Result<Self, Reported> {
        let directory = reader.get("directory", &path("the path of the keystore directory"));
        let split = reader.get("split", &flag());
        let socket = reader.optional("socket", &path("the path of a socket"));
        let ceiling_file = reader.optional("ceiling_file", &path("the path of a file"));
        if let (Ok(false), Ok(Some(_))) = (&split, &socket) {
            reader.fault("socket", "goes with keys.split = true alone");
        }
        let vault = reader.section("vault", VaultConfig::read);
        let pkcs11 = reader.section("pkcs11", Pkcs11Config::read);
        let kms_url = reader.optional("aws_kms_url", &web_address());
        let secrets_url = reader.optional("aws_secrets_url", &web_address());
        let gcp_url = reader.optional("gcp_kms_url", &web_address());
        let credentials = AwsCredentialSource::of(environment);
        let aws = AwsConfig { kms_url: kms_url?, secrets_url: secrets_url?, credentials };
        let gcp = GcpConfig {
            url: gcp_url?.unwrap_or_else(|| "https://cloudkms.googleapis.com".to_owned()),
            metadata_url: metadata_url(environment),
        };
        Ok(Self {
            directory: directory?,
            split: split?,
            socket: socket?,
            ceiling_file: ceiling_file?.unwrap_or(beside_the_journal),
            vault: vault?,
            aws,
            gcp,
            pkcs11: pkcs11?,
        })
    }
}

/// Google's metadata server is on a network of the machine's own, and has no TLS.
fn metadata_url(environment: &Environment) -> String {
    let set = environment.iter().find(|(name, value)| name == GCP_METADATA && !value.is_empty());
    let host = set.map_or("metadata.google.internal", |(_, value)| value.as_str());
    format!("http://{host}")
}

impl VaultConfig {
    /// None where nothing is said of a server.
    fn read(reader: &mut TableReader<'_>) -> Result<Option<Self>, Reported> {
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

impl Pkcs11Config {
    /// None where nothing is said of a token.
    fn read(reader: &mut TableReader<'_>) -> Result<Option<Self>, Reported> {
        let module = reader.optional("module", &path("the path of a PKCS#11 library"));
        let token = reader.optional("token", &text("the label of a token", LONGEST));
        let pin_file = reader.optional("pin_file", &path("the path of a file with a PIN"));
        match (module?, token?, pin_file?) {
            (None, None, None) => Ok(None),
            (Some(module), Some(token), Some(pin_file)) => {
                Ok(Some(Self { module, token, pin_file }))
            }
            (None, _, _) => Err(reader.fault("module", "missing; expected the path of a library")),
            (_, None, _) => Err(reader.fault("token", "missing; expected the label of the token")),
            (_, _, None) => Err(reader.fault("pin_file", "missing; expected a file with the PIN")),
        }
    }
}

impl AwsCredentialSource {
    fn of(environment: &Environment) -> Self {
        let set = |wanted: &str| {
            let found =
                environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
            found.map(|(_, value)| value.clone())
        };
        if let (Some(id), Some(secret)) = (set(ID), set(SECRET)) {
            let token = set(TOKEN).map(SecretString::from);
            return Self::Fixed { id, secret: secret.into(), token };
        }
        let relative = set(DOOR_PATH);
        let relative = relative.map(|path| format!("http://169.254.170.2{path}"));
        if let Some(url) = set(DOOR).or(relative) {
            let file = set(DOOR_TOKEN);
            return Self::Container { url, token_file: file.map(PathBuf::from) };
        }
        let url = set(METADATA);
        let url = url.unwrap_or_else(|| "http://169.254.169.254".to_owned());
        Self::Machine { url: url.trim_end_matches('/').to_owned() }
    }
}

/// `https://host[:port]`, or `http://` on this machine: what passes there is a secret, or a signature.
fn web_address() -> Expected<String> {
    Expected::of_text("an https:// address", |text| {
        let url = url::Url::parse(text).map_err(|_| "is no address")?;
        let here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        match url.scheme() {
            "https" if plain => Ok(text.trim_end_matches('/').to_owned()),
            "http" if plain && here => Ok(text.trim_end_matches('/').to_owned()),
            "http" if plain => Err("sends secrets in the clear"),
            _ => Err("is no such address"),
        }
    })
}
