//! The form of a certificate: one JSON text, which is written in one way only.

use crate::event::{Declaration, respaced};
use crate::evm::EvmProof;
use crate::invalid::Invalid;
use crate::tvm::TvmProof;
use alloy::primitives::{Address, B256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use tron_primitives::block::ProvenHeader;

/// The version of the form.
pub const SCHEMA: &str = "charge-certificate/1";

/// The longest text that is read, bytes.
const LONGEST: usize = 1 << 18;

/// The certificate of a charge. Its text has its fields by name, without spaces, and each value in one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    pub(crate) block: B256,
    pub(crate) claim: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<B256>,
    pub(crate) history: B256,
    pub(crate) network: u64,
    pub(crate) proof: Proof,
    pub(crate) schema: String,
    pub(crate) transaction: B256,
}

/// The proof, by family.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Proof {
    Evm(EvmProof),
    Tvm(TvmProof),
}

/// The part of a certificate that a journal states. No chain proves it, but for what a chain says as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The network that the transaction was signed for: the EIP-155 id, or on TRON the last four bytes of the genesis
    /// block's id.
    pub network: u64,
    /// The claim's row, by the names of entry fields. `contract` is the contract that was called. All that the event has
    /// as `amount`, `planId`, `subscribeId`, `tokenAddress`, `userHash` or `userWallet` is compared with it.
    pub claim: BTreeMap<String, String>,
    /// The digest of the history's row that ended the claim.
    pub history: B256,
}

/// The facts that a valid certificate shows to whoever trusts its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The block's number.
    pub number: u64,
    /// The hash of the transaction, which succeeded.
    pub transaction: B256,
    /// The contract that logged the event, or that was called where there is no event. The reader compares it with the
    /// merchant's: anybody can make a contract that logs anything.
    pub contract: Address,
    /// The event's declaration, in which the maker of the certificate chose the parameters' names and which of those
    /// are indexed: a log commits to the event's name and the types alone. The reader compares it with the contract's
    /// published ABI, or gives it to [`Certificate::verify_event`].
    pub declaration: Option<String>,
    /// The values of the event, by the names in its declaration: none on TRON, whose blocks commit to no logs.
    pub event: BTreeMap<String, String>,
    /// TRON: the block's header and those on top of it, whose producers a list of witnesses is asked for.
    pub standing: Vec<ProvenHeader>,
}

impl Certificate {
    /// A certificate with its digest, if it is valid.
    pub(crate) fn sealed(
        statement: Statement,
        block: B256,
        transaction: B256,
        proof: Proof,
    ) -> Result<Self, Invalid> {
        let Statement { network, claim, history } = statement;
        let schema = SCHEMA.to_owned();
        let mut made =
            Self { block, claim, digest: None, history, network, proof, schema, transaction };
        made.digest = Some(made.digest());
        made.shown()?;
        Ok(made)
    }

    /// Reads a certificate, and believes nothing in it yet.
    ///
    /// # Errors
    /// [`Invalid`]: it is none, or it was altered since it was written.
    pub fn read(text: &str) -> Result<Self, Invalid> {
        if text.len() > LONGEST {
            return Err(Invalid::Size);
        }
        let read: Self = serde_json::from_str(text).map_err(|_| Invalid::Form)?;
        if read.schema != SCHEMA {
            return Err(Invalid::Version(read.schema));
        }
        if read.text() != text {
            return Err(Invalid::Spelling);
        }
        if read.digest != Some(read.digest()) {
            return Err(Invalid::Digest);
        }
        Ok(read)
    }

    /// The text of it.
    pub fn text(&self) -> String {
        // Nothing in it fails to be written; an empty text is no certificate.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The hash of the block. All that the certificate shows is as true as the hash is that of a final block.
    pub fn block(&self) -> B256 {
        self.block
    }

    /// Shows what follows from it for whoever trusts the block with this hash.
    ///
    /// # Errors
    /// [`Invalid`].
    pub fn verify(&self, trusted: B256) -> Result<Shown, Invalid> {
        if self.block != trusted {
            return Err(Invalid::OtherBlock(self.block));
        }
        self.shown()
    }

    /// Shows what follows from it for whoever trusts the block with this hash, if its event has this declaration, which
    /// the reader has from the contract's published ABI. Blanks may be otherwise.
    ///
    /// # Errors
    /// [`Invalid`]; [`Invalid::Declared`] also if it has no event.
    pub fn verify_event(&self, trusted: B256, published: &str) -> Result<Shown, Invalid> {
        let shown = self.verify(trusted)?;
        if shown.declaration != Some(respaced(published)) {
            return Err(Invalid::Declared(shown.declaration));
        }
        Ok(shown)
    }

    fn shown(&self) -> Result<Shown, Invalid> {
        let shown = match &self.proof {
            Proof::Evm(proof) => proof.shown(self),
            Proof::Tvm(proof) => proof.shown(self),
        }?;
        let contract = format!("{:#x}", shown.contract);
        let event = shown.declaration.as_deref().map(Declaration::read).transpose()?;
        let told = |name: &str| {
            event.as_ref().filter(|event| event.means_field(name)).and(shown.event.get(name))
        };
        let other = |(name, value): &(&String, &String)| match name.as_str() {
            "contract" => **value != contract,
            name => told(name).is_some_and(|told| told != *value),
        };
        if !self.claim.contains_key("contract") {
            return Err(Invalid::Claim("contract".to_owned()));
        }
        match self.claim.iter().find(other) {
            Some((name, _)) => Err(Invalid::Claim(name.clone())),
            None => Ok(shown),
        }
    }

    /// The SHA-256 of the text without the digest.
    fn digest(&self) -> B256 {
        let bare = Self { digest: None, ..self.clone() };
        B256::from_slice(&Sha256::digest(bare.text()))
    }
}

/// Bytes, in the text as Base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}
