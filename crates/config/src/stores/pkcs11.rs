//! A token of PKCS#11, which signs with its keys.

use super::{Custody, LONGEST, StoreForm, StoreName};
use crate::faults::Reported;
use crate::kinds::{path, text};
use crate::reader::TableReader;
use std::path::PathBuf;

pub(super) const KEY: StoreForm = StoreForm {
    scheme: "pkcs11",
    forms: &["<label>", "id=<hex>"],
    read: |text| key(text).map(StoreName::Pkcs11),
    problem: "is neither <label> nor id=<hex>",
    custody: Custody::Signs,
    variables: &[],
};

/// The name of a key on its token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TokenKey {
    /// By its label.
    Label(String),
    /// By its id.
    Id(Vec<u8>),
}

/// A token of PKCS#11, and the login to it.
#[derive(Debug, Clone)]
pub struct Pkcs11Config {
    /// The library of the token's maker.
    pub module: PathBuf,
    /// The label of the token.
    pub token: String,
    /// The file with the PIN of the token's user.
    pub pin_file: PathBuf,
}

impl Pkcs11Config {
    /// Reads `[keys.pkcs11]`; none if no token is described.
    pub(crate) fn read(reader: &mut TableReader<'_>) -> Result<Option<Self>, Reported> {
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

fn key(text: &str) -> Option<TokenKey> {
    let whole = !text.is_empty() && text.len() <= 128 && !text.chars().any(char::is_control);
    match text.strip_prefix("id=") {
        Some(id) => hex::decode(id).ok().filter(|id| whole && !id.is_empty()).map(TokenKey::Id),
        None => whole.then(|| TokenKey::Label(text.to_owned())),
    }
}
