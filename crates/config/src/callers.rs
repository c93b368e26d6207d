//! The callers that may ask: `[callers.<label>]`, one key and one secret each.
//!
//! The label is only a name for the operator, in lower case so that environment variables reach it
//! (`SIGNER__CALLERS__SCHEDULER__SECRET`). Rotation is two labels with the same key: both secrets
//! are good until the older label is removed. Secrets go straight into `SecretString`.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret as _, SecretString};

use super::faults::Reported;
use super::kinds::{Expected, flag, whole};
use super::reader::TableReader;
use super::secret;
use billing::{AskedBy, CallerKey, CallerLabel, PlanId, PlatformChainId};

/// Somebody who may ask, with one secret. The same key may occur again with another secret.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The operator's name for it and for its secret. Unique.
    pub label: String,
    /// The API key that the caller sends in the clear: 1 to 128 visible ASCII characters.
    pub key: String,
    /// Secret that the caller signs with: 16 to 4096 bytes.
    pub secret: SecretString,
    /// Rights of the caller.
    pub rights: Rights,
}

impl Caller {
    /// Returns the caller's identity, as written records name it.
    pub fn asked_by(&self) -> AskedBy {
        AskedBy { key: CallerKey(self.key.clone()), label: CallerLabel(self.label.clone()) }
    }
}

/// The rights of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// True if the caller may ask for the outcome of billings.
    pub read: bool,
    /// True if the caller may have subscriptions charged.
    pub bill: bool,
    /// True if the caller may pause and resume chains, and resolve what is unproven.
    pub control: bool,
    /// The chains that it may ask for; none where it may ask for all.
    pub chains: Option<Vec<PlatformChainId>>,
    /// The plans that it may bill; none where it may bill all.
    pub plans: Option<Vec<PlanId>>,
}

impl Default for Rights {
    fn default() -> Self {
        Self { read: true, bill: true, control: false, chains: None, plans: None }
    }
}

impl Rights {
    /// Returns true if the caller may ask for something on a chain.
    pub fn covers_chain(&self, chain: PlatformChainId) -> bool {
        self.chains.as_ref().is_none_or(|chains| chains.contains(&chain))
    }

    /// Returns true if the caller may bill a plan.
    pub fn covers_plan(&self, plan: PlanId) -> bool {
        self.plans.as_ref().is_none_or(|plans| plans.contains(&plan))
    }

    fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let usual = Self::default();
        let mut may = |key, usual| {
            reader.optional(key, &flag()).map(|stated: Option<bool>| stated.unwrap_or(usual))
        };
        let (read, bill) = (may("read", usual.read), may("bill", usual.bill));
        let control = may("control", usual.control);
        let chains =
            some_of(reader, "chains", &whole(1..=i32::MAX.unsigned_abs()).map(PlatformChainId));
        let plan = whole(0..=i64::MAX.unsigned_abs())
            .map(|n| PlanId(i64::try_from(n).unwrap_or(i64::MAX)));
        let plans = some_of(reader, "plans", &plan);
        Ok(Self { read: read?, bill: bill?, control: control?, chains: chains?, plans: plans? })
    }
}

/// The values of a list, if there is one.
fn some_of<T: 'static>(
    reader: &mut TableReader<'_>,
    key: &'static str,
    kind: &Expected<T>,
) -> Result<Option<Vec<T>>, Reported> {
    let stated = reader.has(key);
    reader.several(key, kind).map(|values| stated.then_some(values))
}

/// Secrets that stand in the examples and in the sandbox. Anybody can read them there.
const EXAMPLES: [&str; 4] = [
    "local-example-secret-do-not-use-elsewhere",
    "everybody-knows-this-secret",
    "everybody-knows-this-one-too",
    "everybody-knows-this-api-secret",
];

/// A secret with fewer different bytes was typed, and can be guessed.
const FEWEST: usize = 8;

/// The form that a secret must have.
const SECRET: &str = "a secret of 16 to 4096 bytes";

/// All callers, ordered by label. `non_test_chain` is a chain where an example's secret is refused.
pub(super) fn read_all(
    root: &mut TableReader<'_>,
    non_test_chain: Option<&str>,
) -> Result<Vec<Caller>, Reported> {
    let all = root.each("callers", |label, reader| read(label, reader, non_test_chain))?;
    let all: Vec<Caller> = all.into_iter().collect::<Result<_, _>>()?;
    let mut outcome = Ok(());
    for (place, caller) in all.iter().enumerate() {
        let twin = all.iter().take(place).find(|before| one_secret(before, caller));
        if let Some(twin) = twin {
            let path = format!("callers.{}", caller.label);
            let problem = format!(
                "has the secret of callers.{}; make one for each, or whoever has the rights of the one \
                 has those of the other",
                twin.label
            );
            outcome = Err(root.fault_at(&path, problem));
        }
    }
    outcome.map(|()| all)
}

/// The callers that nothing is wrong with, ordered by label: for asking a Signer, which judges them itself.
pub(super) fn read_usable(root: &mut TableReader<'_>) -> Result<Vec<Caller>, Reported> {
    let all = root.each("callers", |label, reader| read(label, reader, None))?;
    let fault = all.iter().find_map(|one| one.as_ref().err()).copied();
    let usable: Vec<Caller> = all.into_iter().flatten().collect();
    // Nobody at all is asked for unsigned; that must not come of faults.
    fault.filter(|_| usable.is_empty()).map_or(Ok(usable), Err)
}

#[expect(
    clippy::disallowed_methods,
    reason = "compares two secrets and tells nobody what they are"
)]
fn one_secret(one: &Caller, other: &Caller) -> bool {
    one.secret.expose_secret() == other.secret.expose_secret()
}

fn read(
    label: &str,
    reader: &mut TableReader<'_>,
    non_test_chain: Option<&str>,
) -> Result<Caller, Reported> {
    let label = check_label(label, reader);
    let key = reader.get("key", &api_key());
    let rights = Rights::read(reader);
    let non_test_chain = non_test_chain.map(str::to_owned);
    let accept = move |text: &str| accept(text, non_test_chain.as_deref());
    let read = secret::read(reader, "secret", "secret_file", SECRET, accept);
    let secret = read.and_then(|read| {
        read.ok_or_else(|| reader.fault("secret", "missing; set secret, or secret_file"))
    });
    Ok(Caller { label: label?, key: key?, secret: secret?, rights: rights? })
}

fn check_label(label: &str, reader: &TableReader<'_>) -> Result<String, Reported> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let reachable = label.bytes().all(plain)
        && (1..=64).contains(&label.len())
        && !label.contains("__")
        && !label.starts_with('_')
        && !label.ends_with('_');
    if reachable {
        return Ok(label.to_owned());
    }
    let problem = "not a label; name the caller in lower case letters, digits and single \
                   underscores, and write its API key as key = \"…\"";
    Err(reader.fault_at(&reader.path(), problem))
}

fn api_key() -> Expected<String> {
    Expected::of_text("the API key of the caller: 1 to 128 visible ASCII characters", |text| {
        match text {
            _ if text.len() > 128 => Err("is too long"),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("has a blank, or a letter beyond ASCII")
            }
            _ => Ok(text.to_owned()),
        }
    })
}

/// Returns the number of different bytes in a secret.
fn different(text: &str) -> usize {
    text.bytes().collect::<BTreeSet<u8>>().len()
}

fn accept(text: &str, non_test_chain: Option<&str>) -> Result<SecretString, String> {
    let known_to_all = EXAMPLES.contains(&text);
    match (text.len(), non_test_chain) {
        (..16, _) => Err("is too short".to_owned()),
        (4097.., _) => Err("is too long".to_owned()),
        (_, Some(chain)) if different(text) < FEWEST => Err(format!(
            "has only {} different bytes, and {chain} is not marked as a test chain; make one with \
             `openssl rand -base64 32`",
            different(text)
        )),
        (_, Some(chain)) if known_to_all => {
            Err(format!("is one of the examples, and {chain} is not marked as a test chain"))
        }
        (_, _) => Ok(SecretString::from(text)),
    }
}
