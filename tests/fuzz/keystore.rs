//! Keystores: the bytes stand in a file of the directory, with the password `testpassword` beside it.

use keys::{KeySource, TestKeys};
use std::cell::OnceCell;
use std::fs::{OpenOptions, write};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use tempfile::TempDir;

/// The most work that a keystore may ask for here: rounds, or blocks of scrypt. The program allows more, which
/// takes seconds.
const WORK: u64 = 1 << 12;

thread_local! {
    static ROOM: OnceCell<TempDir> = const { OnceCell::new() };
}

/// A keystore that opens does so again, for the address that it states.
pub fn open(data: &[u8]) {
    ROOM.with(|room| {
        let room = room.get_or_init(|| {
            let room = tempfile::tempdir().unwrap();
            private(&room.path().join("key.password"), b"testpassword");
            private(&room.path().join("key.json"), b"");
            room
        });
        write(room.path().join("key.json"), data).unwrap();
        let listed = keys::list(room.path()).unwrap();
        let [(name, stated)] = listed.as_slice() else { panic!("one keystore: {listed:?}") };
        if !is_cheap(data) {
            return;
        }
        let open = || {
            let directory = room.path().to_owned();
            KeySource::Keystore { directory, name: name.clone() }.load("key", TestKeys::Allowed)
        };
        if let Ok(key) = open() {
            assert_eq!(stated.unwrap_or(key.address()), key.address());
            assert_eq!(open().unwrap().address(), key.address());
        }
    });
}

fn private(path: &Path, contents: &[u8]) {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.unwrap().write_all(contents).unwrap();
}

fn is_cheap(data: &[u8]) -> bool {
    let Ok(read) = serde_json::from_slice::<serde_json::Value>(data) else { return true };
    let crypto = read.get("crypto").or_else(|| read.get("Crypto"));
    let asked = |name| {
        let params = crypto.and_then(|crypto| crypto.get("kdfparams"));
        params.and_then(|params| params.get(name)?.as_u64()).unwrap_or(1)
    };
    let scrypt = asked("n").saturating_mul(asked("r")).saturating_mul(asked("p"));
    scrypt.max(asked("c")) <= WORK
}
