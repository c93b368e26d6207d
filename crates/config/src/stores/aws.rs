//! AWS: keys of KMS, which signs with them, and secrets of Secrets Manager, which hands keys out.

use super::{Custody, StoreForm, StoreName, variable, web_address};
use crate::faults::Reported;
use crate::layers::Environment;
use crate::reader::TableReader;
use secrecy::SecretString;
use std::path::PathBuf;

pub(super) const SECRET: StoreForm = StoreForm {
    scheme: "awssecret",
    forms: &["<ARN>[#<field>]"],
    read: |text| secret(text).map(StoreName::AwsSecret),
    problem: "is no arn:<partition>:secretsmanager:<region>:<account>:secret:<name>",
    custody: Custody::Exports,
    variables: VARIABLES,
};

pub(super) const KMS_KEY: StoreForm = StoreForm {
    scheme: "awskms",
    forms: &["<key ARN>"],
    read: |text| kms_key(text).map(StoreName::AwsKms),
    problem: "is no arn:<partition>:kms:<region>:<account>:key/<id>",
    custody: Custody::Signs,
    variables: VARIABLES,
};

/// The variables that AWS sets for the processes that it starts.
const VARIABLES: &[&str] = &[ID, KEY, TOKEN, URL, PATH, URL_TOKEN, METADATA];
const ID: &str = "AWS_ACCESS_KEY_ID";
const KEY: &str = "AWS_SECRET_ACCESS_KEY";
const TOKEN: &str = "AWS_SESSION_TOKEN";
const URL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const PATH: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const URL_TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const METADATA: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// A secret of AWS Secrets Manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSecret {
    /// The whole ARN of the secret.
    pub arn: String,
    /// The region in the ARN.
    pub region: String,
    /// Field of the secret; none if the key is the whole secret.
    pub field: Option<String>,
}

/// A key of AWS KMS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsKey {
    /// The whole ARN of the key: an alias can be moved to another key.
    pub arn: String,
    /// The region in the ARN.
    pub region: String,
}

/// The settings for reaching AWS.
#[derive(Debug, Clone)]
pub struct AwsConfig {
    /// Address of KMS instead of the region's own.
    pub kms_url: Option<String>,
    /// Address of Secrets Manager instead of the region's own.
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

impl AwsConfig {
    /// Reads the settings in `[keys]`.
    pub(crate) fn read(
        keys: &mut TableReader<'_>,
        environment: &Environment,
    ) -> Result<Self, Reported> {
        let kms_url = keys.optional("aws_kms_url", &web_address());
        let secrets_url = keys.optional("aws_secrets_url", &web_address());
        let credentials = AwsCredentialSource::of(environment);
        Ok(Self { kms_url: kms_url?, secrets_url: secrets_url?, credentials })
    }
}

impl AwsCredentialSource {
    fn of(environment: &Environment) -> Self {
        let set = |wanted: &str| variable(environment, wanted);
        if let (Some(id), Some(secret)) = (set(ID), set(KEY)) {
            let token = set(TOKEN).map(SecretString::from);
            return Self::Fixed { id, secret: secret.into(), token };
        }
        let relative = set(PATH).map(|path| format!("http://169.254.170.2{path}"));
        if let Some(url) = set(URL).or(relative) {
            return Self::Container { url, token_file: set(URL_TOKEN).map(PathBuf::from) };
        }
        let url = set(METADATA).unwrap_or_else(|| "http://169.254.169.254".to_owned());
        Self::Machine { url: url.trim_end_matches('/').to_owned() }
    }
}

fn secret(text: &str) -> Option<AwsSecret> {
    let (arn, field) = match text.split_once('#') {
        Some((_, "")) => return None,
        Some((arn, field)) => (arn, Some(field.to_owned())),
        None => (text, None),
    };
    let (region, resource) = arn_of("secretsmanager", arn)?;
    let name = resource.strip_prefix("secret:")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+=.@-".contains(&byte);
    let good = !name.is_empty() && name.bytes().all(plain);
    good.then(|| AwsSecret { arn: arn.to_owned(), region, field })
}

fn kms_key(arn: &str) -> Option<KmsKey> {
    let (region, resource) = arn_of("kms", arn)?;
    let good = is_plain(resource.strip_prefix("key/")?);
    good.then(|| KmsKey { arn: arn.to_owned(), region })
}

/// The region and the resource of an ARN of a service.
fn arn_of<'t>(service: &str, arn: &'t str) -> Option<(String, &'t str)> {
    let rest = arn.strip_prefix("arn:")?;
    let mut parts = rest.splitn(5, ':');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (partition, of, region, account, resource) = (next()?, next()?, next()?, next()?, next()?);
    let good = partition.starts_with("aws")
        && of == service
        && is_plain(partition)
        && is_plain(region)
        && account.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| (region.to_owned(), resource))
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
