//! The state that the adapters of both families hold: the account, what it may sign, and with what.

use super::inspect::tell_trust;
use super::profiles::KnownProfiles;
use super::simulation::CallFailure;
use super::{ChainError, Facts, Unready};
use ::node::{Client, Fleet, NodeView, RealChain};
use alloy::primitives::Address;
use billing::spell_address;
use config::ChainConfig;
use contract::Profile;
use host::clock::Clock;
use keys::Key;
use parking_lot::Mutex;
use policy::Policy;
use signing::{SigningContext, chain_policy};
use std::collections::BTreeSet;
use std::sync::Arc;
use tracing::warn;

/// The account that signs the transactions, with or without its key.
#[derive(Clone, Debug)]
pub enum Signatory {
    /// Of the account of this key.
    Key(Arc<Key>),
    /// Of this account, whose key is not here.
    Keyless(Address),
}

impl Signatory {
    /// The account.
    pub fn address(&self) -> Address {
        match self {
            Self::Key(key) => key.address(),
            Self::Keyless(address) => *address,
        }
    }
}

/// An account on one chain. Without its key it can look, offer bytes that are signed already, and tell
/// what became of them.
#[derive(Debug)]
pub struct SigningAccount {
    pub(super) facts: Facts,
    /// As it is configured.
    pub(super) profile: Arc<Profile>,
    /// By which batches were signed.
    pub(super) profiles: KnownProfiles,
    pub(super) policy: Arc<Policy>,
    signing: Option<Arc<SigningContext>>,
    /// This machine's time. Only compared with the head's, as a check of both.
    pub(super) clock: Clock,
    /// That the contract does not let the account bill, as it last said.
    forbidden: Mutex<Option<Unready>>,
}

impl SigningAccount {
    /// The account of `signatory` on `chain`, whose contract is called by `profile`.
    pub fn new(
        chain: &ChainConfig,
        profile: impl Into<Arc<Profile>>,
        signatory: &Signatory,
        clock: Clock,
    ) -> Self {
        let profile = profile.into();
        let family = &chain.family;
        let facts = Facts {
            id: chain.platform_id,
            name: chain.name.clone(),
            family: family.family(),
            network: family.network(),
            contract: family.contract(),
            signer: signatory.address(),
            max_in_flight: family.max_in_flight().into(),
            poll_interval: family.poll_interval(),
            idle_poll_interval: family.idle_poll_interval(),
        };
        let policy = Arc::new(chain_policy(chain, &profile, facts.signer));
        let signing = match signatory {
            Signatory::Key(key) => {
                Some(Arc::new(SigningContext { key: Arc::clone(key), policy: Arc::clone(&policy) }))
            }
            Signatory::Keyless(_) => None,
        };
        let profiles = KnownProfiles::of(facts.family, facts.contract, Arc::clone(&profile));
        Self { facts, profile, profiles, policy, signing, clock, forbidden: Mutex::default() }
    }

    /// The key and the policy for signing.
    pub(super) fn signing(&self) -> Result<Arc<SigningContext>, ChainError> {
        self.signing.clone().ok_or(ChainError::NoKey { signer: self.spelled() })
    }

    /// The account, as its chain writes it.
    fn spelled(&self) -> String {
        spell_address(self.facts.family, self.facts.signer)
    }

    /// Why nothing can be signed, where a store has the key and did not sign when it was last asked.
    pub(super) fn key_trouble(&self) -> Option<ChainError> {
        let why = self.signing.as_ref()?.key.trouble()?;
        Some(Unready::Key { signer: self.spelled(), why }.into())
    }

    /// Has a store that did not sign, or was not asked for long, sign a test.
    pub(super) async fn look_after_key(&self) {
        if let Some(signing) = &self.signing {
            signing.key.look_after().await;
        }
    }

    /// Returns the error for a call of the account that the contract refused.
    pub(super) fn forbidden(&self, failure: &CallFailure) -> ChainError {
        let Facts { family, contract, signer, .. } = self.facts;
        let [contract, signer] = [contract, signer].map(|address| spell_address(family, address));
        let answer = failure.sentence(&self.profile);
        Unready::Permission { contract, signer, answer }.into()
    }

    /// Why every request is refused, where the contract does not let the account bill.
    pub(super) fn not_permitted(&self) -> Option<ChainError> {
        self.forbidden.lock().clone().map(Into::into)
    }

    /// Takes down what was learnt about that.
    pub(super) fn note_permission<T>(&self, asked: &Result<T, ChainError>) {
        match asked {
            Ok(_) => *self.forbidden.lock() = None,
            Err(ChainError::Unready(forbidden @ Unready::Permission { .. })) => {
                *self.forbidden.lock() = Some(forbidden.clone());
            }
            Err(_) => {}
        }
    }

    /// Takes up by which profiles batches were signed, each with its contract.
    pub(super) fn remember(&self, earlier: Vec<(Address, Arc<str>)>) {
        if let Some(signing) = &self.signing {
            let texts: BTreeSet<&Arc<str>> = earlier.iter().map(|(_, text)| text).collect();
            signing.key.remember(texts.into_iter().map(ToString::to_string));
        }
        self.profiles.remember(earlier);
    }

    /// Returns the place of the account's key, in a word; none where the key is not here to sign.
    pub(super) fn key_held(&self) -> Option<&'static str> {
        self.signing.as_ref().map(|signing| signing.key.location())
    }

    /// Returns true if the account has its key.
    pub(super) fn signs(&self) -> bool {
        self.signing.is_some()
    }
}

/// Why there is no adapter. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConnected {
    /// The nodes are on another chain.
    #[error("the node is on chain {answered}, but this chain is {configured}")]
    WrongChain {
        /// The value in the configuration.
        configured: RealChain,
        /// The chain that the nodes name.
        answered: RealChain,
    },
}

/// Asks all nodes which chain they are on, and says at the start on whose word claims are released.
/// One that does not answer is asked again at the next look; one on another chain is not used, and
/// when all of them are, that is an error.
pub(super) async fn verify_chain_ids<C: Client>(
    facts: &Facts,
    fleet: &Fleet<C>,
    configured: RealChain,
    witnesses: &[NodeView],
) -> Result<(), NotConnected> {
    for (id, verified) in fleet.verify_all().await {
        let Err(error) = verified else { continue };
        let node = fleet.label(id);
        warn!(chain = facts.name, node, %error, "the node cannot be used yet");
    }
    if let Some(answered) = fleet.all_on_wrong_chain() {
        return Err(NotConnected::WrongChain { configured, answered });
    }
    tell_trust(facts, fleet, witnesses);
    Ok(())
}
