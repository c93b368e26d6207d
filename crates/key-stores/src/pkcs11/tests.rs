use super::*;
use crate::fake_store::leads_back;
use alloy::primitives::{Address, keccak256};
use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType};
use cryptoki::session::{Session, UserType};
use host::testing::run_alone;
use keys::{Key, RemoteKey, SignError};
use secrecy::SecretString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::SystemTime;

/// The OIDs of secp256k1 and of P-256, in DER.
const SECP256K1: &[u8] = &[6, 5, 0x2b, 0x81, 4, 0, 10];
const P256: &[u8] = &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];

const PIN: &str = "4711-a-good-pin";
const DIGEST: B256 = B256::repeat_byte(9);
const PATH: &str = "chains.139.key";

/// `SoftHSM`, where Debian and others put it.
fn softhsm() -> PathBuf {
    let places =
        ["/usr/lib/softhsm", "/usr/lib64/pkcs11", "/usr/lib/pkcs11", "/usr/local/lib/softhsm"];
    let mut places = places.map(|place| Path::new(place).join("libsofthsm2.so")).into_iter();
    places.find(|path| path.exists()).expect("this test asks SoftHSM: apt-get install softhsm2")
}

/// Runs one of the tests below in a process of its own: a module is loaded once per process, and `SoftHSM`
/// finds its tokens by the environment.
fn alone(test: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("tokens")).unwrap();
    let config = directory.path().join("softhsm2.conf");
    let tokens = directory.path().join("tokens").display().to_string();
    let text = format!("directories.tokendir = {tokens}\nobjectstore.backend = file\n");
    fs::write(&config, text).unwrap();
    softhsm();
    let prepare = |command: &mut Command| {
        command.env("SOFTHSM2_CONF", &config).current_dir(directory.path());
    };
    run_alone(&format!("pkcs11::tests::{test}"), prepare).unwrap();
}

/// The directory that the process was started in: its token, and the files beside it.
struct Room {
    config: Pkcs11Config,
}

impl Room {
    /// With a token, and keys on it: what each is called, its id and its curve. Tells their addresses.
    fn with(keys: &[(&str, u8, &[u8])]) -> (Self, Vec<Address>) {
        let module = Pkcs11::new(softhsm()).unwrap();
        let flags = CInitializeFlags::OS_LOCKING_OK;
        module.initialize(CInitializeArgs::new(flags)).unwrap();
        let slot = module.get_slots_with_token().unwrap()[0];
        let officer = SecretString::from("officer");
        module.init_token(slot, &officer, "billing").unwrap();
        let session = module.open_rw_session(slot).unwrap();
        session.login(UserType::So, Some(&officer)).unwrap();
        session.init_pin(&PIN.into()).unwrap();
        session.logout().unwrap();
        session.login(UserType::User, Some(&PIN.into())).unwrap();
        let addresses =
            keys.iter().map(|(label, id, curve)| make(&session, label, *id, curve)).collect();
        drop(session);
        module.finalize().unwrap();
        let config = Pkcs11Config {
            module: softhsm(),
            token: "billing".to_owned(),
            pin_file: PathBuf::from("pin"),
        };
        let room = Self { config };
        room.pin(&format!("{PIN}\n"));
        (room, addresses)
    }

    fn pin(&self, pin: &str) {
        fs::write(&self.config.pin_file, pin).unwrap();
        fs::set_permissions(&self.config.pin_file, Permissions::from_mode(0o600)).unwrap();
    }

    fn store(&self, key: TokenKey) -> Pkcs11Store {
        Pkcs11Store::open(key, self.config.clone(), PATH).unwrap()
    }

    async fn key(&self, key: TokenKey, address: Address) -> Result<Key, KeyError> {
        opened(self.store(key), address).await
    }
}

async fn opened(store: Pkcs11Store, address: Address) -> Result<Key, KeyError> {
    RemoteKey::open(Box::new(store), address, PATH).await.map(Key::from)
}

/// The one directory of the token.
fn token() -> PathBuf {
    fs::read_dir("tokens").unwrap().next().unwrap().unwrap().path()
}

/// When the token wrote something about itself.
fn written() -> SystemTime {
    fs::metadata(token().join("token.object")).unwrap().modified().unwrap()
}

fn make(session: &Session, label: &str, id: u8, curve: &[u8]) -> Address {
    let named =
        || [Attribute::Label(label.into()), Attribute::Id(vec![id]), Attribute::Token(true)];
    let public = [vec![Attribute::EcParams(curve.to_vec())], named().to_vec()].concat();
    let private =
        [vec![Attribute::Sensitive(true), Attribute::Sign(true)], named().to_vec()].concat();
    let (public, _) =
        session.generate_key_pair(&Mechanism::EccKeyPairGen, &public, &private).unwrap();
    let told = session.get_attributes(public, &[AttributeType::EcPoint]).unwrap();
    let [Attribute::EcPoint(point)] = told.as_slice() else { panic!("{told:?}") };
    // 04 41 04 X Y
    Address::from_slice(&keccak256(&point[3..])[12..])
}

fn label(text: &str) -> TokenKey {
    TokenKey::Label(text.to_owned())
}

fn why(refused: Result<Key, KeyError>) -> StoreFault {
    match refused {
        Err(KeyError::SelfTest { key, source: SignError::Store { why, .. } }) if key == PATH => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_that_was_made_on_a_token_signs_there() {
    alone("made_on_the_token");
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn made_on_the_token() {
    let keys =
        [("one", 1, SECP256K1), ("two", 2, SECP256K1), ("p256", 3, P256), ("two", 4, SECP256K1)];
    let (room, addresses) = Room::with(&keys);
    for (named, address) in [(label("one"), addresses[0]), (TokenKey::Id(vec![2]), addresses[1])] {
        let (key, store) = (room.key(named.clone(), address).await.unwrap(), room.store(named));
        assert_eq!(key.trouble(), None);
        // Half of what a token makes has a high s.
        for byte in 0..16 {
            let digest = B256::repeat_byte(byte);
            assert!(leads_back(store.sign(digest).await.unwrap(), digest, address));
        }
    }
    assert_eq!(why(room.key(label("three"), addresses[0]).await), StoreFault::Missing);
    assert_eq!(why(room.key(label("two"), addresses[1]).await), StoreFault::Odd, "two of them");
    let refused = room.key(label("one"), addresses[1]).await;
    assert!(
        matches!(refused, Err(KeyError::NotPinned { actual, .. }) if actual == addresses[0]),
        "{refused:?}"
    );
    assert_eq!(why(room.key(label("p256"), addresses[2]).await), StoreFault::OtherKey);
}

#[test]
fn a_wrong_pin_is_tried_once() {
    alone("tried_once");
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn tried_once() {
    let (room, addresses) = Room::with(&[("one", 1, SECP256K1)]);
    let store = room.store(label("one"));
    // The token writes down every try, so that one that is made is seen.
    for (pin, tries) in [("a wrong pin", true), ("a wrong pin", false), ("another", true)] {
        room.pin(pin);
        let before = written();
        for _ in 0..3 {
            let refused = store.sign(DIGEST).await.unwrap_err();
            assert_eq!(refused.fault, StoreFault::Pin, "{refused}");
            assert!(!refused.message.contains(pin), "{refused}");
            if !tries {
                assert_eq!(written(), before, "it was tried again");
            }
        }
        assert_eq!(written() != before, tries, "{pin}");
    }
    // One that is refused does not end the process, which would be started again to try it once more.
    let key = opened(store, addresses[0]).await.unwrap();
    assert_eq!(key.trouble(), Some(StoreFault::Pin));
    room.pin(PIN);
    assert!(room.store(label("one")).sign(DIGEST).await.is_ok(), "the right one is tried");
}

#[test]
fn a_token_that_was_gone_signs_when_it_is_back() {
    alone("gone_and_back");
}

#[tokio::test]
#[ignore = "run by the test above, in a process of its own"]
async fn gone_and_back() {
    let (room, _) = Room::with(&[("one", 1, SECP256K1)]);
    let (store, here) = (room.store(label("one")), token());
    let away = PathBuf::from("away");
    for _ in 0..2 {
        store.sign(DIGEST).await.unwrap();
        fs::rename(&here, &away).unwrap();
        for _ in 0..2 {
            let refused = store.sign(DIGEST).await.unwrap_err();
            assert_eq!(refused.fault, StoreFault::Unreachable, "{refused}");
        }
        fs::rename(&away, &here).unwrap();
        store.sign(DIGEST).await.unwrap();
    }
    // Not there when the process starts, either.
    fs::rename(&here, &away).unwrap();
    let late = room.store(label("one"));
    assert!(late.sign(DIGEST).await.is_err());
    fs::rename(&away, &here).unwrap();
    late.sign(DIGEST).await.unwrap();
}

#[test]
fn what_cannot_be_loaded_and_a_pin_that_others_can_read_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let config = Pkcs11Config {
        module: directory.path().join("none.so"),
        token: "billing".to_owned(),
        pin_file: directory.path().join("pin"),
    };
    let room = Room { config };
    let open = || Pkcs11Store::open(label("one"), room.config.clone(), PATH).map(drop).unwrap_err();
    assert!(matches!(open(), KeyError::Unreadable { .. }));
    room.pin(PIN);
    let said = open().to_string();
    assert!(said.starts_with(PATH) && said.contains("none.so"), "{said}");
    room.pin("\n");
    assert!(matches!(open(), KeyError::NotAPin { .. }));
    room.pin(PIN);
    fs::set_permissions(&room.config.pin_file, Permissions::from_mode(0o644)).unwrap();
    let said = open().to_string();
    assert!(said.contains("others than its owner") && !said.contains(PIN), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_module_that_hangs_holds_nobody_up_and_what_nobody_waits_for_is_passed_over() {
    let (jobs, queue) = sync_channel(6);
    let config =
        Pkcs11Config { module: PathBuf::new(), token: String::new(), pin_file: PathBuf::new() };
    let store = Pkcs11Store { key: label("one"), config: Arc::new(config), jobs };
    let key = opened(store, Address::ZERO).await.unwrap();
    assert_eq!(key.trouble(), Some(StoreFault::Silent));
    let left: Vec<TokenJob> = queue.try_iter().collect();
    assert!(!left.is_empty() && left.iter().all(|job| job.answer.is_closed()), "nobody waits");
}
