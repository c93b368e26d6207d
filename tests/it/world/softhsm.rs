//! A token of `SoftHSM` with a key on it, in a directory of its own.

use super::signer::Installation;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// The PIN of the token's user.
pub(crate) const PIN: &str = "Qd7Rtokenpin5Hw2Yc";

/// A private key of secp256k1 as PKCS#8, up to its 32 bytes.
const PKCS8: [u8; 32] = [
    0x30, 0x3e, 2, 1, 0, 0x30, 0x10, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 5, 0x2b, 0x81, 4,
    0, 10, 4, 0x27, 0x30, 0x25, 2, 1, 1, 4, 0x20,
];

pub(crate) struct SoftHsm(TempDir);

impl SoftHsm {
    /// A token called `billing`, with this key (hex) on it under the same name.
    pub(crate) fn with(key: &str) -> Self {
        let hsm = Self(tempfile::tempdir().unwrap());
        fs::create_dir(hsm.path("tokens")).unwrap();
        let tokens = hsm.path("tokens").display().to_string();
        let config = format!("directories.tokendir = {tokens}\nobjectstore.backend = file\n");
        fs::write(hsm.path("softhsm2.conf"), config).unwrap();
        fs::write(hsm.path("pin"), PIN).unwrap();
        fs::set_permissions(hsm.path("pin"), Permissions::from_mode(0o600)).unwrap();
        let der = [PKCS8.to_vec(), hex::decode(key).unwrap()].concat();
        let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der);
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        fs::write(hsm.path("key.pem"), pem).unwrap();
        hsm.run(&["--init-token", "--free", "--label", "billing", "--so-pin", "officer"]);
        hsm.run(&["--import", "key.pem", "--token", "billing", "--label", "billing", "--id", "01"]);
        fs::remove_file(hsm.path("key.pem")).unwrap();
        hsm
    }

    fn run(&self, arguments: &[&str]) {
        let ended = Command::new("softhsm2-util")
            .args(arguments)
            .args(["--pin", PIN])
            .env("SOFTHSM2_CONF", self.path("softhsm2.conf"))
            .current_dir(self.0.path())
            .output()
            .expect("this test asks SoftHSM: apt-get install softhsm2");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{arguments:?}: {said}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An installation whose chain 139 signs with the token's key, which is of `address`.
    pub(crate) fn sign_for(&self, installation: Installation, address: &str) -> Installation {
        let shown = |name: &str| self.path(name).display().to_string();
        installation
            .env("SOFTHSM2_CONF", &shown("softhsm2.conf"))
            .env("SIGNER__KEYS__PKCS11__MODULE", "/usr/lib/softhsm/libsofthsm2.so")
            .env("SIGNER__KEYS__PKCS11__TOKEN", "billing")
            .env("SIGNER__KEYS__PKCS11__PIN_FILE", &shown("pin"))
            .env("SIGNER__CHAINS__139__KEY", &format!("pkcs11:billing@{address}"))
    }

    /// Somebody pulls it out.
    pub(crate) fn remove(&self) {
        fs::rename(self.path("tokens"), self.path("away")).unwrap();
        fs::create_dir(self.path("tokens")).unwrap();
    }

    /// And puts it back.
    pub(crate) fn put_back(&self) {
        fs::remove_dir(self.path("tokens")).unwrap();
        fs::rename(self.path("away"), self.path("tokens")).unwrap();
    }
}
