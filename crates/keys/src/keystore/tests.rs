use proptest::prelude::*;

use super::*;

/// In both vectors, under "testpassword".
const VECTOR_KEY: &str = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d";
/// From the Web3 Secret Storage Definition.
const PBKDF2: &str = r#"{"crypto":{"cipher":"aes-128-ctr",
    "cipherparams":{"iv":"6087dab2f9fdbbfaddc31a909735c1e6"},
    "ciphertext":"5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
    "kdf":"pbkdf2","kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256",
    "salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},
    "mac":"517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},
    "id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}"#;
/// Made with Python's hashlib.scrypt and `openssl enc -aes-128-ctr`. (The definition's own vector
/// for scrypt has r = 1 with N = 2^18, which RFC 7914 forbids and no tool writes.)
const SCRYPT: &str = r#"{"address":"0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b","Crypto":{
    "cipher":"aes-128-ctr","cipherparams":{"iv":"f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"},
    "ciphertext":"81405f39fcd7b513704994e676d70e4d21840bcc8adda75b5c2747fb9ba2c67c",
    "kdf":"scrypt","kdfparams":{"dklen":32,"n":4096,"r":8,"p":2,
    "salt":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"},
    "mac":"d0518eff34babce417840abb927d044b6f8dca958eaf8906c290ef43d10bec52"},"version":3}"#;

const CHANCE: Chance = Chance { salt: [7; 32], iv: [0xff; 16], id: [9; 16] };

fn sealed(bytes: [u8; 32], password: &[u8]) -> String {
    let mut secret = Secret::empty();
    secret.as_mut_slice().copy_from_slice(&bytes);
    seal(&secret, Address::repeat_byte(0xab), password, CHANCE, 4).unwrap()
}

fn fault(json: &str, password: &[u8]) -> KeystoreError {
    open(json.as_bytes(), password).unwrap_err()
}

#[test]
fn what_other_tools_made_opens() {
    for vector in [PBKDF2, SCRYPT] {
        let secret = open(vector.as_bytes(), b"testpassword").unwrap();
        assert_eq!(hex::encode(secret.as_slice()), VECTOR_KEY);
        assert_eq!(fault(vector, b"testpasswore"), KeystoreError::WrongPassword);
    }
}

#[test]
fn another_reader_opens_what_we_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ours.json");
    std::fs::write(&path, sealed([0x42; 32], b"pass word")).unwrap();
    assert_eq!(eth_keystore::decrypt_key(&path, "pass word").unwrap(), [0x42; 32]);
    assert!(eth_keystore::decrypt_key(&path, "password").is_err());
}

#[test]
fn we_open_what_another_writer_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let mut rng = k256::elliptic_curve::rand_core::OsRng;
    let name = Some("theirs.json");
    eth_keystore::encrypt_key(directory.path(), &mut rng, [0x42; 32], "pass word", name).unwrap();
    let json = std::fs::read(directory.path().join("theirs.json")).unwrap();
    assert_eq!(open(&json, b"pass word").unwrap().as_slice(), [0x42; 32]);
    assert_eq!(stated_address(&json), None);
}

#[test]
fn it_states_its_address_and_a_version_4_uuid() {
    let json: serde_json::Value = serde_json::from_str(&sealed([1; 32], b"p")).unwrap();
    assert_eq!(json["address"], "ab".repeat(20));
    assert_eq!(json["id"], "09090909-0909-4909-8909-090909090909");
    assert_eq!(json["crypto"]["kdfparams"]["n"], 16);
    assert_eq!(stated_address(json.to_string().as_bytes()), Some(Address::repeat_byte(0xab)));
}

#[test]
fn a_changed_checksum_or_ciphertext_does_not_open() {
    for field in ["mac", "ciphertext"] {
        let mut json: serde_json::Value = serde_json::from_str(&sealed([1; 32], b"p")).unwrap();
        let mut bytes = hex::decode(json["crypto"][field].as_str().unwrap()).unwrap();
        bytes[31] ^= 1;
        json["crypto"][field] = hex::encode(bytes).into();
        assert_eq!(fault(&json.to_string(), b"p"), KeystoreError::WrongPassword);
    }
}

#[test]
fn what_no_sound_keystore_has_is_a_fault() {
    let sound: serde_json::Value = serde_json::from_str(&sealed([1; 32], b"p")).unwrap();
    let cases = [
        ("/version", "1", "version"),
        ("/crypto/cipher", "\"aes-128-cbc\"", "cipher"),
        ("/crypto/cipherparams/iv", "\"00\"", "iv"),
        ("/crypto/mac", "\"00\"", "mac"),
        ("/crypto/ciphertext", "\"00\"", "ciphertext"),
        ("/crypto/kdf", "\"argon2\"", "kdf"),
        ("/crypto/kdf", "\"pbkdf2\"", "pbkdf2"),
        ("/crypto/kdfparams/dklen", "16", "dklen"),
        ("/crypto/kdfparams/salt", "\"zz\"", "salt"),
        ("/crypto/kdfparams/n", "0", "scrypt"),
        ("/crypto/kdfparams/n", "1", "scrypt"),
        ("/crypto/kdfparams/n", "262145", "scrypt"),
        ("/crypto/kdfparams/n", "2097152", "scrypt"),
        ("/crypto/kdfparams/n", "9223372036854775808", "scrypt"),
        ("/crypto/kdfparams/n", "null", "scrypt"),
        ("/crypto/kdfparams/r", "0", "scrypt"),
        ("/crypto/kdfparams/r", "4294967295", "scrypt"),
        ("/crypto/kdfparams/p", "0", "scrypt"),
        ("/crypto/kdfparams/p", "17", "scrypt"),
        ("/crypto", "{}", "fields"),
    ];
    for (pointer, value, named) in cases {
        let mut json = sound.clone();
        *json.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
        let refused = open(json.to_string().as_bytes(), b"p");
        let Err(KeystoreError::Malformed(fault)) = refused else { panic!("{pointer} = {value}") };
        assert!(fault.contains(named), "{pointer} = {value}: {fault}");
    }
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(secret in any::<[u8; 32]>(), password in any::<Vec<u8>>()) {
        let json = sealed(secret, &password);
        let opened = open(json.as_bytes(), &password).unwrap();
        prop_assert_eq!(opened.as_slice(), secret);
    }

    #[test]
    fn no_file_makes_it_fall_over(json in any::<Vec<u8>>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        prop_assert!(open(&json, b"p").is_err());
        let mut damaged = sealed([1; 32], b"p").into_bytes();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        drop(open(&damaged, b"p"));
    }
}
