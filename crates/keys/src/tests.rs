use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use alloy::primitives::{Address, B256, Signature, U256, address, keccak256};
use proptest::prelude::*;
use secrecy::SecretString;
use tempfile::TempDir;

use super::*;

/// A key that nobody publishes and no account uses.
const HEX: &str = "0x8f2a559490d7e5f1c3b6a1e0d9c8b7a6f5e4d3c2b1a0998877665544332211ff";
const ANVIL: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const ANVIL_ADDRESS: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const SECP256K1_ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

struct Room {
    room: TempDir,
}

impl Room {
    fn new() -> Self {
        Self { room: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.room.path()
    }

    fn file(&self, name: &str, contents: &str, mode: u32) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn import(&self, name: &str, key: &str, password: &str) -> Result<Address, KeyError> {
        directory::import_with_cost(self.path(), name, &key.into(), &password.into(), 4)
    }

    fn load(&self, name: &str) -> Result<LocalKey, KeyError> {
        load(KeySource::Keystore { directory: self.path().into(), name: name.to_owned() })
    }
}

fn load(source: KeySource) -> Result<LocalKey, KeyError> {
    source.load("chains.139.key", TestKeys::Refused)
}

fn file(path: PathBuf) -> Result<LocalKey, KeyError> {
    load(KeySource::File { path })
}

fn env(value: &str) -> Result<LocalKey, KeyError> {
    load(KeySource::Env { json_or_hex: SecretString::from(value), platform_chain_id: 139 })
}

fn sign(key: &LocalKey, digest: B256) -> Signature {
    key.sign_digest(digest).unwrap()
}

fn ours() -> Address {
    env(HEX).unwrap().address()
}

#[test]
fn a_known_key_has_its_known_address_and_signature() {
    let source = KeySource::Env { json_or_hex: ANVIL.into(), platform_chain_id: 31_337 };
    let key = source.load("chains.1.key", TestKeys::Allowed).unwrap();
    assert_eq!(key.address(), ANVIL_ADDRESS);
    // another implementation of RFC 6979 (plain Python integers) gives the same r, s and parity
    let signature = sign(&key, keccak256("charge"));
    assert_eq!(hex::encode(signature.as_bytes()), include_str!("tests/signature.hex").trim());
}

#[test]
fn a_debug_print_shows_the_address_only() {
    let source = KeySource::Env { json_or_hex: ANVIL.into(), platform_chain_id: 1 };
    assert!(!format!("{source:?}").contains("ac0974"));
    let key = source.load("k", TestKeys::Allowed).unwrap();
    assert_eq!(format!("{key:?}"), format!("LocalKey {{ address: {ANVIL_ADDRESS:?}, .. }}"));
}

#[test]
fn a_key_comes_from_a_file_with_or_without_prefix_and_line_end() {
    let room = Room::new();
    for (text, mode) in [(HEX.to_owned(), 0o600), (format!("{}\r\n", &HEX[2..]), 0o400)] {
        assert_eq!(file(room.file("key", &text, mode)).unwrap().address(), ours());
        fs::remove_file(room.path().join("key")).unwrap();
    }
}

#[test]
fn a_file_that_others_can_reach_is_refused_with_the_cure() {
    let room = Room::new();
    for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666] {
        let refused = file(room.file("key", HEX, mode)).unwrap_err();
        assert!(matches!(&refused, KeyError::TooOpen { mode: found, .. } if *found == mode));
        let text = refused.to_string();
        assert!(text.starts_with("chains.139.key: ") && text.contains("chmod 600"), "{text}");
    }
    assert!(file(room.file("key", HEX, 0o600)).is_ok());
}

#[test]
fn a_link_is_judged_by_what_it_leads_to() {
    let room = Room::new();
    let (closed, open) = (room.file("closed", HEX, 0o400), room.file("open", HEX, 0o444));
    // as Kubernetes does: key -> ..data/key, ..data -> ..2026
    fs::create_dir(room.path().join("..2026")).unwrap();
    symlink("..2026", room.path().join("..data")).unwrap();
    symlink(&closed, room.path().join("..2026/key")).unwrap();
    symlink("..data/key", room.path().join("key")).unwrap();
    assert_eq!(file(room.path().join("key")).unwrap().address(), ours());
    symlink(&open, room.path().join("other")).unwrap();
    assert!(matches!(file(room.path().join("other")), Err(KeyError::TooOpen { .. })));
    symlink("nowhere", room.path().join("dangling")).unwrap();
    assert!(matches!(file(room.path().join("dangling")), Err(KeyError::Unreadable { .. })));
}

#[test]
fn what_is_not_the_right_file_is_refused() {
    let room = Room::new();
    assert!(matches!(file(room.path().into()), Err(KeyError::NotAFile { .. })));
    assert!(matches!(file("/dev/zero".into()), Err(KeyError::NotAFile { .. })));
    assert!(matches!(file(room.path().join("none")), Err(KeyError::Unreadable { .. })));
    let long = room.file("long", &" ".repeat(257), 0o600);
    assert!(matches!(file(long), Err(KeyError::TooLong { limit_bytes: 256, .. })));
    let just = room.file("just", &format!("{}{HEX}", " ".repeat(190)), 0o600);
    assert!(file(just).is_ok());
}

#[test]
fn a_file_of_somebody_else_is_refused() {
    let room = Room::new();
    let path = room.file("key", HEX, 0o600);
    // only root can give a file away; elsewhere there is nothing to test
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_ok() {
        assert!(matches!(file(path), Err(KeyError::WrongOwner { owner: 12_345, .. })));
    }
}

#[test]
fn what_is_no_key_is_refused_without_repeating_it() {
    let short = &HEX[..65];
    let zero = "0".repeat(64);
    let long = format!("{HEX}0");
    let inside = format!("{}g{}", &HEX[..30], &HEX[31..]);
    for text in ["", "0x", short, &long, &zero, SECP256K1_ORDER, &inside, "[1]", "null"] {
        let refused = env(text).unwrap_err();
        assert!(matches!(refused, KeyError::NotAKey { .. }), "{text}");
        let said = format!("{refused} {refused:?}");
        assert!(text.len() < 20 || !said.contains(&text[2..20]), "{said}");
    }
}

#[test]
fn a_map_gives_the_key_of_its_chain() {
    let address = ours();
    let spaced = format!(" {{ \"1\": \"0x00\" , \"139\" : \"{HEX}\" }}\n");
    assert_eq!(env(&spaced).unwrap().address(), address);
    assert!(matches!(env("{}"), Err(KeyError::NotInMap { platform_chain_id: 139, .. })));
    let other = format!("{{\"140\":\"{HEX}\"}}");
    assert!(matches!(env(&other), Err(KeyError::NotInMap { .. })));
    let twice = format!("{{\"139\":\"{HEX}\",\"139\":\"{HEX}\"}}");
    assert!(matches!(env(&twice), Err(KeyError::TwiceInMap { .. })));
    let broken = [
        format!("{{\"139\":\"{HEX}\""),
        format!("{{\"139\":\"{HEX}\"}} x"),
        format!("{{\"polygon\":\"{HEX}\"}}"),
        format!("{{\"139\":[\"{HEX}\"]}}"),
        format!("{{\"139\":\"\\u0030x{HEX}\"}}"),
    ];
    for text in broken {
        let refused = env(&text).unwrap_err();
        assert!(matches!(refused, KeyError::NotAMap { .. }), "{text}");
        assert!(!format!("{refused} {refused:?}").contains("8f2a55"));
    }
}

#[test]
fn published_keys_sign_on_test_chains_only() {
    let typed = ["01".repeat(32), format!("{}01", "00".repeat(31)), "42".repeat(32)];
    let published = typed.iter().map(String::as_str).chain([
        ANVIL,
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
        "da146374a75310b9666e834ee4ad0866d6f4035967bfc76217c5a495fff9f0d0",
    ]);
    for text in published {
        assert!(matches!(env(text), Err(KeyError::TestKey { .. })), "{text}");
        let source = KeySource::Env { json_or_hex: text.into(), platform_chain_id: 1 };
        assert!(source.load("k", TestKeys::Allowed).is_ok(), "{text}");
    }
}

#[test]
fn an_imported_key_opens_and_its_files_are_closed() {
    let room = Room::new();
    let directory = room.path().join("keys");
    let (key, password) = (HEX.into(), SecretString::from("pass word\n"));
    let address = directory::import_with_cost(&directory, "billing", &key, &password, 4).unwrap();
    assert_eq!(address, ours());
    let source = KeySource::Keystore { directory: directory.clone(), name: "billing".to_owned() };
    assert_eq!(load(source).unwrap().address(), address);
    let mode = |path: &str| fs::metadata(directory.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("billing.json"), mode("billing.password"), mode(".")), (0o600, 0o600, 0o700));
    let files = fs::read_dir(&directory).unwrap().count();
    assert_eq!(files, 2, "temporary files are gone");
}

#[test]
fn a_key_by_chance_opens_and_is_another_one_every_time() {
    let room = Room::new();
    let password = SecretString::from("pass word");
    let [one, other] = ["one", "other"].map(|name| {
        let address = directory::generate_with_cost(room.path(), name, &password, 4).unwrap();
        assert_eq!(room.load(name).unwrap().address(), address);
        address
    });
    assert_ne!(one, other);
    let again = directory::generate_with_cost(room.path(), "one", &password, 4);
    assert!(matches!(again, Err(KeyError::Exists { .. })), "it is never replaced");
    assert_eq!(room.load("one").unwrap().address(), one);
}

#[test]
fn an_import_overwrites_nothing() {
    let room = Room::new();
    room.import("billing", HEX, "one").unwrap();
    let before = fs::read(room.path().join("billing.json")).unwrap();
    assert!(matches!(room.import("billing", ANVIL, "one"), Err(KeyError::Exists { .. })));
    assert_eq!(fs::read(room.path().join("billing.json")).unwrap(), before);

    room.file("second.password", "chosen before\n", 0o600);
    assert!(matches!(room.import("second", HEX, "another"), Err(KeyError::Exists { .. })));
    assert!(room.import("second", HEX, "chosen before").is_ok());
    assert!(room.load("second").is_ok());
}

#[test]
fn an_import_without_sense_writes_nothing() {
    let room = Room::new();
    assert!(matches!(room.import("a", HEX, ""), Err(KeyError::BadPassword { .. })));
    assert!(matches!(room.import("a", HEX, "\n"), Err(KeyError::BadPassword { .. })));
    let long = "p".repeat(1025);
    assert!(matches!(room.import("a", HEX, &long), Err(KeyError::BadPassword { .. })));
    assert!(matches!(room.import("a", "0x12", "p"), Err(KeyError::NotAKey { .. })));
    for name in ["", "../up", "a/b", ".hidden", "a b", "é", &"n".repeat(65)] {
        assert!(matches!(room.import(name, HEX, "p"), Err(KeyError::BadName { .. })), "{name}");
        assert!(matches!(room.load(name), Err(KeyError::BadName { .. })), "{name}");
    }
    assert_eq!(fs::read_dir(room.path()).unwrap().count(), 0);
}

#[test]
fn a_keystore_that_does_not_open_says_why() {
    let room = Room::new();
    room.import("billing", HEX, "right").unwrap();
    room.file("billing.password", "wrong", 0o600);
    let refused = room.load("billing").unwrap_err();
    assert!(matches!(refused, KeyError::WrongPassword { .. }));
    assert!(!refused.to_string().contains("wrong"));
    room.file("billing.password", "right\r\n", 0o600);
    assert!(room.load("billing").is_ok());
    room.file("billing.password", "right", 0o644);
    assert!(matches!(room.load("billing"), Err(KeyError::TooOpen { .. })));
    room.file("billing.password", "right", 0o600);

    let json = fs::read_to_string(room.path().join("billing.json")).unwrap();
    let address = hex::encode(ours());
    room.file("billing.json", &json.replace(&address, &hex::encode(ANVIL_ADDRESS)), 0o600);
    let refused = room.load("billing").unwrap_err();
    assert!(matches!(refused, KeyError::OtherAddress { stated: ANVIL_ADDRESS, .. }));
    room.file("billing.json", "{}", 0o600);
    assert!(matches!(room.load("billing"), Err(KeyError::NotAKeystore { .. })));
    room.file("billing.json", &json, 0o640);
    assert!(matches!(room.load("billing"), Err(KeyError::TooOpen { .. })));
}

#[test]
fn a_list_shows_addresses_and_decrypts_nothing() {
    let room = Room::new();
    room.import("b", HEX, "p").unwrap();
    room.import("a", ANVIL, "p").unwrap();
    room.file("a.password", "not the password", 0o600);
    room.file("broken.json", "{", 0o600);
    room.file(".hidden.json", "{}", 0o600);
    room.file("README.md", "keys", 0o644);
    let expected = [("a", Some(ANVIL_ADDRESS)), ("b", Some(ours())), ("broken", None)];
    assert_eq!(list(room.path()).unwrap(), expected.map(|(name, it)| (name.to_owned(), it)));
    assert!(matches!(list(&room.path().join("none")), Err(KeyError::Unreadable { .. })));
}

#[test]
fn the_example_opens_on_a_test_chain() {
    let room = Room::new();
    for name in ["billing.json", "billing.password"] {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../keys.example").join(name);
        room.file(name, &fs::read_to_string(example).unwrap(), 0o600);
    }
    assert!(matches!(room.load("billing"), Err(KeyError::TestKey { .. })));
    assert_eq!(list(room.path()).unwrap(), [("billing".to_owned(), Some(ANVIL_ADDRESS))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_signature_is_low_and_leads_back(secret in any::<[u8; 32]>(), digest in any::<[u8; 32]>()) {
        let source = KeySource::Env { json_or_hex: hex::encode(secret).into(), platform_chain_id: 1 };
        let Ok(key) = source.load("k", TestKeys::Allowed) else { return Ok(()) };
        let digest = B256::from(digest);
        let signature = sign(&key, digest);
        let half = U256::from_str_radix(SECP256K1_ORDER, 16).unwrap().wrapping_shr(1);
        prop_assert!(signature.s() <= half);
        prop_assert_eq!(signature.recover_address_from_prehash(&digest).unwrap(), key.address());
        prop_assert_eq!(sign(&key, digest), signature);
    }
}

#[cfg(target_os = "linux")]
mod memory;
