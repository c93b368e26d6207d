//! The V3 keystore format (Web3 Secret Storage): from key and password to JSON, and back.
//!
//! Pure: no file, no clock; randomness comes in as an argument. Strict: whatever a sound keystore
//! does not have is a fault, and nothing that a file says can make this panic or take more than
//! [`SCRYPT_MEMORY_LIMIT`]. The derived key, the AES schedule and the private key are wiped.

use aes::Aes128;
use alloy::primitives::{Address, Keccak256};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use hmac::Hmac;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::secret::Secret;

/// log2 of scrypt's N in what we write: 256 MiB and about a second for every guess.
pub(super) const LOG_N: u8 = 18;
const R: u32 = 8;
const P: u32 = 1;

/// Limits on the work that a file may ask of us, in bytes and rounds; four times the amounts that geth writes.
const SCRYPT_MEMORY_LIMIT: u64 = 1 << 30;
const SCRYPT_P_LIMIT: u32 = 16;
const PBKDF2_ROUNDS: std::ops::RangeInclusive<u32> = 1..=10_000_000;

const CIPHER: &str = "aes-128-ctr";
const PRF: &str = "hmac-sha256";

/// Why a keystore does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeystoreError {
    /// Not a keystore, or one that asks for what we refuse.
    Malformed(&'static str),
    /// The checksum does not fit: another password, or damage.
    WrongPassword,
}

/// Chance, drawn by the caller; never used twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    pub(super) salt: [u8; 32],
    pub(super) iv: [u8; 16],
    pub(super) id: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(alias = "Crypto")]
    crypto: Crypto,
    #[serde(default)]
    id: Option<String>,
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Crypto {
    cipher: String,
    cipherparams: CipherParams,
    ciphertext: String,
    kdf: String,
    kdfparams: KdfParams,
    mac: String,
}

#[derive(Serialize, Deserialize)]
struct CipherParams {
    iv: String,
}

/// The parameters of both functions in one; `kdf` says which must be there.
#[derive(Serialize, Deserialize)]
struct KdfParams {
    dklen: u32,
    salt: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prf: Option<String>,
}

/// 16 bytes that encrypt and 16 that go into the checksum.
struct Derived(Zeroizing<[u8; 32]>);

impl Derived {
    fn scrypt(password: &[u8], salt: &[u8], params: scrypt::Params) -> Option<Self> {
        let mut derived = Self(Zeroizing::new([0; 32]));
        scrypt::scrypt(password, salt, &params, derived.0.as_mut_slice()).ok()?;
        Some(derived)
    }

    fn pbkdf2(password: &[u8], salt: &[u8], rounds: u32) -> Self {
        let mut derived = Self(Zeroizing::new([0; 32]));
        pbkdf2::pbkdf2::<Hmac<Sha256>>(password, salt, rounds, derived.0.as_mut_slice());
        derived
    }

    /// Encrypts or decrypts in place: CTR is its own inverse.
    fn apply(&self, iv: &[u8; 16], data: &mut [u8]) {
        let (key, _) = self.0.split_at(16);
        if let Ok(mut cipher) = Ctr128BE::<Aes128>::new_from_slices(key, iv) {
            cipher.apply_keystream(data);
        }
    }

    fn mac(&self, ciphertext: &[u8]) -> [u8; 32] {
        let (_, key) = self.0.split_at(16);
        let mut keccak = Keccak256::new();
        keccak.update(key);
        keccak.update(ciphertext);
        keccak.finalize().0
    }
}

/// Encrypts `secret` under `password` with scrypt's N = 2^`log_n`. `None` when `log_n` is none
/// that scrypt takes.
pub(super) fn seal(
    secret: &Secret,
    address: Address,
    password: &[u8],
    chance: Chance,
    log_n: u8,
) -> Option<String> {
    let params = scrypt::Params::new(log_n, R, P).ok()?;
    let derived = Derived::scrypt(password, &chance.salt, params)?;
    let mut ciphertext = Zeroizing::new([0; 32]);
    ciphertext.copy_from_slice(secret.as_slice());
    derived.apply(&chance.iv, ciphertext.as_mut_slice());
    let document = Document {
        address: Some(hex::encode(address)),
        crypto: Crypto {
            cipher: CIPHER.to_owned(),
            cipherparams: CipherParams { iv: hex::encode(chance.iv) },
            ciphertext: hex::encode(ciphertext.as_slice()),
            kdf: "scrypt".to_owned(),
            kdfparams: KdfParams {
                dklen: 32,
                salt: hex::encode(chance.salt),
                n: 1_u64.checked_shl(log_n.into()),
                r: Some(R),
                p: Some(P),
                c: None,
                prf: None,
            },
            mac: hex::encode(derived.mac(ciphertext.as_slice())),
        },
        id: Some(uuid_v4(chance.id)),
        version: 3,
    };
    serde_json::to_string_pretty(&document).ok()
}

/// Decrypts a keystore. The address that it states is not compared: see [`stated_address`].
pub(super) fn open(json: &[u8], password: &[u8]) -> Result<Secret, KeystoreError> {
    let Document { crypto, version, .. } = serde_json::from_slice(json)
        .map_err(|_| KeystoreError::Malformed("it lacks the fields of one"))?;
    if version != 3 {
        return Err(KeystoreError::Malformed("its version is not 3"));
    }
    if crypto.cipher != CIPHER {
        return Err(KeystoreError::Malformed("its cipher is not aes-128-ctr"));
    }
    let iv: [u8; 16] = bytes(&crypto.cipherparams.iv, "its iv is not 16 bytes of hex")?;
    let mac: [u8; 32] = bytes(&crypto.mac, "its mac is not 32 bytes of hex")?;
    let ciphertext: [u8; 32] = bytes(&crypto.ciphertext, "its ciphertext is not 32 bytes of hex")?;
    let derived = derive(&crypto, password)?;
    if derived.mac(&ciphertext) != mac {
        return Err(KeystoreError::WrongPassword);
    }
    let mut secret = Secret::empty();
    secret.as_mut_slice().copy_from_slice(&ciphertext);
    derived.apply(&iv, secret.as_mut_slice());
    Ok(secret)
}

/// The address that a keystore says it is for, unproven. Decrypts nothing.
pub(super) fn stated_address(json: &[u8]) -> Option<Address> {
    let document: Document = serde_json::from_slice(json).ok()?;
    document.address?.parse().ok()
}

fn derive(crypto: &Crypto, password: &[u8]) -> Result<Derived, KeystoreError> {
    let asked = &crypto.kdfparams;
    if asked.dklen != 32 {
        return Err(KeystoreError::Malformed("its dklen is not 32"));
    }
    let salt =
        hex::decode(&asked.salt).map_err(|_| KeystoreError::Malformed("its salt is not hex"))?;
    match crypto.kdf.as_str() {
        "scrypt" => scrypt_params(asked)
            .and_then(|params| Derived::scrypt(password, &salt, params))
            .ok_or(KeystoreError::Malformed("its scrypt parameters are missing or beyond reason")),
        "pbkdf2" => asked
            .c
            .filter(|rounds| PBKDF2_ROUNDS.contains(rounds) && asked.prf.as_deref() == Some(PRF))
            .map(|rounds| Derived::pbkdf2(password, &salt, rounds))
            .ok_or(KeystoreError::Malformed("its pbkdf2 parameters are missing or beyond reason")),
        _ => Err(KeystoreError::Malformed("its kdf is neither scrypt nor pbkdf2")),
    }
}

fn scrypt_params(asked: &KdfParams) -> Option<scrypt::Params> {
    let (n, r, p) = (asked.n?, asked.r?, asked.p?);
    let memory_bytes = n.checked_mul(r.into())?.checked_mul(128)?;
    if !n.is_power_of_two() || n < 2 || memory_bytes > SCRYPT_MEMORY_LIMIT || p > SCRYPT_P_LIMIT {
        return None;
    }
    scrypt::Params::new(u8::try_from(n.trailing_zeros()).ok()?, r, p).ok()
}

fn bytes<const N: usize>(text: &str, fault: &'static str) -> Result<[u8; N], KeystoreError> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeystoreError::Malformed(fault))?;
    Ok(bytes)
}

/// RFC 4122, version 4, of 16 random bytes.
fn uuid_v4(mut id: [u8; 16]) -> String {
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    let mut text = hex::encode(id);
    for dash in [20, 16, 12, 8] {
        text.insert(dash, '-');
    }
    text
}

#[cfg(test)]
mod tests;
