//! The keys of a chain: those that sign, each for an account of its own, and those that have signed before.

use crate::faults::Reported;
use crate::key_ref::{KeyRef, key_ref};
use crate::layers::Environment;
use crate::reader::TableReader;
use billing::Family;

/// The one key that signs.
const ONE: &str = "key";

/// The keys that sign, where there are several.
const SEVERAL: &str = "keys";

/// The keys of a chain.
#[derive(Debug, Clone)]
pub struct ChainKeys {
    /// Sign, each what falls to its account. Never none.
    signing: Vec<KeyRef>,
    /// True if the keys stand in `keys`, and not in `key`.
    listed: bool,
    /// Have signed on the chain before: they end what they have begun, and begin nothing.
    pub retired: Vec<KeyRef>,
}

impl ChainKeys {
    /// One key that signs, and none that has signed before.
    pub fn one(key: KeyRef) -> Self {
        Self { signing: vec![key], listed: false, retired: Vec::new() }
    }

    /// Every key that signs, with where it stands in the section of its chain: `key`, or `keys[1]`.
    pub fn signing(&self) -> impl Iterator<Item = (String, &KeyRef)> {
        let place =
            |place| if self.listed { format!("{SEVERAL}[{place}]") } else { ONE.to_owned() };
        self.signing.iter().enumerate().map(move |(number, key)| (place(number), key))
    }

    /// Every key that has signed before, likewise.
    pub fn retired(&self) -> impl Iterator<Item = (String, &KeyRef)> {
        let retired = self.retired.iter().enumerate();
        retired.map(|(number, key)| (format!("retired_keys[{number}]"), key))
    }

    /// Every key.
    pub fn all(&self) -> impl Iterator<Item = (String, &KeyRef)> {
        self.signing().chain(self.retired())
    }

    pub(super) fn read(
        reader: &mut TableReader<'_>,
        family: Family,
        variable: &'static str,
        environment: &Environment,
    ) -> Result<Self, Reported> {
        let kind = key_ref(family, variable, environment);
        let (listed, both) = (reader.has(SEVERAL), reader.has(SEVERAL) && reader.has(ONE));
        let signing = if listed {
            reader.know(&[ONE]);
            reader.several(SEVERAL, &kind)
        } else {
            reader.know(&[SEVERAL]);
            reader.get(ONE, &kind).map(|key| vec![key])
        };
        let retired = reader.several("retired_keys", &kind);
        let signing = signing?;
        if both {
            return Err(reader.fault(SEVERAL, "stands beside key; keep one of the two"));
        }
        if signing.is_empty() {
            return Err(reader.fault(SEVERAL, "is empty; name at least one key"));
        }
        Ok(Self { signing, listed, retired: retired? })
    }
}
