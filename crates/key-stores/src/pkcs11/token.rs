//! The tokens of one module: found by label, logged in to, asked to sign, and found again when they were
//! gone.
//!
//! A wrong PIN is tried once and never again: tokens count, and lock. Any other failure ends the session, and the
//! next signature gets a new one.

use alloy::primitives::B256;
use config::{Pkcs11Config, TokenKey};
use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::{Slot, TokenInfo};
use keys::{KeyError, StoreError, StoreFault, private_file};
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::HashMap;
use std::path::Path;

/// The longest PIN, bytes.
const PIN_LIMIT: usize = 256;

/// The meanings of a module's codes; any other code means that the module is out of order.
const FAULTS: [(StoreFault, &[RvError]); 5] = [
    (
        StoreFault::Pin,
        &[
            RvError::PinIncorrect,
            RvError::PinInvalid,
            RvError::PinLenRange,
            RvError::PinExpired,
            RvError::PinLocked,
        ],
    ),
    (
        StoreFault::Denied,
        &[
            RvError::UserPinNotInitialized,
            RvError::KeyFunctionNotPermitted,
            RvError::ActionProhibited,
        ],
    ),
    (
        StoreFault::Unreachable,
        &[
            RvError::TokenNotPresent,
            RvError::TokenNotRecognized,
            RvError::DeviceRemoved,
            RvError::SlotIdInvalid,
        ],
    ),
    (StoreFault::Busy, &[RvError::SessionCount]),
    (
        StoreFault::Odd,
        &[
            RvError::KeyTypeInconsistent,
            RvError::KeySizeRange,
            RvError::MechanismInvalid,
            RvError::CurveNotSupported,
            RvError::DataLenRange,
        ],
    ),
];

/// A module that is initialised, and what is known of its tokens.
pub(super) struct Tokens {
    module: Pkcs11,
    /// Those with a session, by label.
    open: HashMap<String, OpenToken>,
    /// The PIN that each has refused, by label.
    refused: HashMap<String, SecretString>,
}

/// A token that is logged in to. The session stays open: the last one to end would log out.
struct OpenToken {
    session: Session,
    keys: HashMap<TokenKey, ObjectHandle>,
}

impl Tokens {
    /// Loads the module at `path` and initialises it; otherwise says why that failed.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let module = Pkcs11::new(path).map_err(|error| error.to_string())?;
        initialize(&module).map_err(|error| error.to_string())?;
        Ok(Self { module, open: HashMap::new(), refused: HashMap::new() })
    }

    /// A signature of `digest` as it is. A session that has died is made anew, once.
    pub(super) fn sign(
        &mut self,
        config: &Pkcs11Config,
        key: &TokenKey,
        digest: B256,
    ) -> Result<k256::ecdsa::Signature, StoreError> {
        let was_open = self.open.contains_key(&config.token);
        let signed = self.sign_once(config, key, digest);
        if signed.is_ok() {
            return signed;
        }
        self.open.remove(&config.token);
        if was_open { self.sign_once(config, key, digest) } else { signed }
    }

    fn sign_once(
        &mut self,
        config: &Pkcs11Config,
        key: &TokenKey,
        digest: B256,
    ) -> Result<k256::ecdsa::Signature, StoreError> {
        let mut token = match self.open.remove(&config.token) {
            Some(token) => token,
            None => self.log_in(config)?,
        };
        let signed = token.sign(key, digest);
        self.open.insert(config.token.clone(), token);
        signed
    }

    fn log_in(&mut self, config: &Pkcs11Config) -> Result<OpenToken, StoreError> {
        let slot = if let Ok(slot) = self.slot(&config.token) {
            slot
        } else {
            self.start_anew()?;
            self.slot(&config.token)?
        };
        let session = self.module.open_ro_session(slot).map_err(said)?;
        let about = self.module.get_token_info(slot).map_err(said)?;
        if about.login_required() {
            self.give_pin(&session, &about, config)?;
        }
        Ok(OpenToken { session, keys: HashMap::new() })
    }

    /// Returns the slot of the token with this label; slots are numbered anew whenever something changes.
    fn slot(&self, label: &str) -> Result<Slot, StoreError> {
        let slots = self.module.get_slots_with_token().map_err(said)?;
        let has_label = |slot: &Slot| {
            self.module
                .get_token_info(*slot)
                .is_ok_and(|about| about.token_initialized() && about.label() == label)
        };
        let mut found = slots.into_iter().filter(has_label);
        match (found.next(), found.next()) {
            (Some(slot), None) => Ok(slot),
            (Some(_), Some(_)) => {
                Err(StoreError::new(StoreFault::Odd, format!("two tokens are called {label:?}")))
            }
            (None, _) => {
                let none = format!("the module has no token that is called {label:?}");
                Err(StoreError::new(StoreFault::Unreachable, none))
            }
        }
    }

    /// Some modules see a token that came back only after this.
    fn start_anew(&mut self) -> Result<(), StoreError> {
        self.open.clear();
        // A module that is not initialised is what is wanted.
        self.module.clone().finalize().ok();
        initialize(&self.module).map_err(said)
    }

    fn give_pin(
        &mut self,
        session: &Session,
        about: &TokenInfo,
        config: &Pkcs11Config,
    ) -> Result<(), StoreError> {
        let pin = read_pin(&config.pin_file, "keys.pkcs11.pin_file")
            .map_err(|error| StoreError::new(StoreFault::Denied, error))?;
        let no = |why: &str| Err(StoreError::new(StoreFault::Pin, why));
        if self.refused.get(&config.token).is_some_and(|refused| same(refused, &pin)) {
            return no("the token has refused the PIN that is in the file; it is not tried again");
        }
        if about.user_pin_locked() {
            return no("the token has locked it");
        }
        if about.user_pin_final_try() {
            return no("the token allows one more try, which is left to you");
        }
        match session.login(UserType::User, Some(&pin)) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {
                self.refused.remove(&config.token);
                Ok(())
            }
            Err(error) => {
                let told = said(error);
                if told.fault == StoreFault::Pin {
                    self.refused.insert(config.token.clone(), pin);
                }
                Err(told)
            }
        }
    }
}

impl OpenToken {
    fn sign(&mut self, key: &TokenKey, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let handle = match self.keys.get(key) {
            Some(handle) => *handle,
            None => self.find(key)?,
        };
        // Over the digest as it is: the mechanisms with a hash in their name would hash it again.
        let raw = self.session.sign(&Mechanism::Ecdsa, handle, digest.as_slice()).map_err(said)?;
        k256::ecdsa::Signature::from_slice(&raw).map_err(|_| {
            StoreError::new(StoreFault::Odd, "what it signed with is no r and s of secp256k1")
        })
    }

    fn find(&mut self, key: &TokenKey) -> Result<ObjectHandle, StoreError> {
        let named = match key {
            TokenKey::Label(label) => Attribute::Label(label.as_bytes().to_vec()),
            TokenKey::Id(id) => Attribute::Id(id.clone()),
        };
        let wanted =
            [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::KeyType(KeyType::EC), named];
        let found = self.session.find_objects(&wanted).map_err(said)?;
        match *found.as_slice() {
            [handle] => {
                self.keys.insert(key.clone(), handle);
                Ok(handle)
            }
            [] => Err(StoreError::new(StoreFault::Missing, "the token has no such private key")),
            _ => Err(StoreError::new(StoreFault::Odd, "the token has several keys of that name")),
        }
    }
}

/// The PIN in a file that is closed to others, without one line end.
pub(super) fn read_pin(path: &Path, key: &str) -> Result<SecretString, KeyError> {
    let bytes = private_file::read(path, key, PIN_LIMIT)?;
    let text = std::str::from_utf8(private_file::without_newline(&bytes)).ok();
    let text = text.filter(|text| !text.is_empty() && !text.contains('\0'));
    let no_pin = || KeyError::NotAPin { key: key.to_owned(), path: path.to_owned() };
    text.map(SecretString::from).ok_or_else(no_pin)
}

#[expect(clippy::disallowed_methods, reason = "a PIN that was refused is known by nothing else")]
fn same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret() == other.expose_secret()
}

fn initialize(module: &Pkcs11) -> Result<(), Error> {
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
        ended => ended,
    }
}

/// Returns the module's error, with its meaning.
fn said(error: Error) -> StoreError {
    let fault = if let Error::Pkcs11(code, _) = &error {
        let known = FAULTS.iter().find(|(_, codes)| codes.contains(code));
        known.map_or(StoreFault::Down, |(fault, _)| *fault)
    } else {
        StoreFault::Odd
    };
    StoreError::new(fault, error)
}
