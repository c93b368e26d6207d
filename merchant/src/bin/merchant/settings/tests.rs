//! The configuration: all faults at once, and the environment over the file.

use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

const GOOD: &str = r#"
[platform]
base_url = "http://127.0.0.1:1"
payment_url = "http://127.0.0.1:2"
key = "mer"
secret = "hidden-words"
not_found_codes = [1001, 1002]

[signer]
url = "http://127.0.0.1:9980"
key = "scheduler"
secret = "hidden-words"
"#;

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn a_good_file_is_read_and_shows_no_secret() {
    let settings = Settings::read(GOOD, vec![]).unwrap();
    assert_eq!(settings.platform.as_ref().unwrap().not_found_codes, [1001, 1002]);
    assert!(settings.signer().is_ok());
    assert!(!format!("{settings:?}").contains("hidden-words"));
}

#[test]
fn the_environment_comes_on_top() {
    let environment = vec![set("MERCHANT__PLATFORM__KEY", "other"), set("HOME", "/")];
    let settings = Settings::read(GOOD, environment).unwrap();
    assert_eq!(settings.platform.unwrap().credentials.key, "other");
}

#[test]
fn every_fault_is_told_at_once() {
    let file = "[platform]\nbase_url = \"x\"\nnot_found_codes = \"x\"\nsecrte = 1\n[signer]\ntimeout_seconds = 0\n";
    let faults = Settings::read(file, vec![]).unwrap_err().to_string();
    for fault in [
        "platform.base_url: must begin with http",
        "platform.payment_url: is missing",
        "platform.key: is missing",
        "platform.secret: is missing",
        "platform.not_found_codes: invalid digit",
        "platform.secrte: there is no such setting",
        "signer.url: is missing",
        "signer.timeout_seconds: must be",
    ] {
        assert!(faults.contains(fault), "{fault} is not among {faults}");
    }
}

#[test]
fn a_secret_comes_from_one_place() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "from a file\n").unwrap();
    let path = file.path().to_str().unwrap();
    let both = vec![set("MERCHANT__PLATFORM__SECRET_FILE", path)];
    let fault = Settings::read(GOOD, both.clone()).unwrap_err().to_string();
    assert!(fault.contains("keep one of the two"), "{fault}");
    let alone = GOOD.replacen("secret = \"hidden-words\"", "", 1);
    assert!(Settings::read(&alone, both).is_ok());
}

#[test]
fn a_secret_that_others_can_read_is_none() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "from a file\n").unwrap();
    let variable = set("MERCHANT__PLATFORM__SECRET_FILE", file.path().to_str().unwrap());
    let alone = GOOD.replacen("secret = \"hidden-words\"", "", 1);
    for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
        std::fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
        let read = Settings::read(&alone, vec![variable.clone()]);
        assert_eq!(read.is_ok(), is_taken, "{mode:o}: {read:?}");
        if let Err(faults) = read {
            let faults = faults.to_string();
            assert!(faults.contains("platform.secret_file: ") && faults.contains("chmod 600"));
        }
    }
}

#[test]
fn what_is_wrong_with_tls_is_told_with_its_key() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "no certificate").unwrap();
    let path = file.path().to_str().unwrap();
    let files = vec![
        set("MERCHANT__SIGNER__CA_FILE", path),
        set("MERCHANT__SIGNER__IDENTITY_FILE", "nowhere.pem"),
    ];
    let clear = Settings::read(GOOD, files.clone()).unwrap_err().to_string();
    for key in ["ca_file", "identity_file"] {
        let fault = format!("signer.{key}: is for an https:// address alone");
        assert!(clear.contains(&fault), "{clear}");
    }
    let encrypted = GOOD.replace("http://127.0.0.1:9980", "https://127.0.0.1:9980");
    let faults = Settings::read(&encrypted, files).unwrap_err().to_string();
    for fault in [
        &format!("signer.ca_file: {path} holds no certificate in PEM"),
        "signer.identity_file: nowhere.pem cannot be read",
    ] {
        assert!(faults.contains(fault), "{fault} is not among {faults}");
    }
    assert_eq!(faults.lines().count(), 3, "{faults}");

    let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let whole = [key.cert.pem(), key.signing_key.serialize_pem()].concat();
    std::fs::write(file.path(), whole).unwrap();
    let files = ["CA", "IDENTITY"].map(|one| set(&format!("MERCHANT__SIGNER__{one}_FILE"), path));
    let settings = Settings::read(&encrypted, files.to_vec()).unwrap();
    assert!(settings.signer().is_ok());
    assert!(!format!("{settings:?}").contains("PRIVATE KEY"));
}

#[test]
fn a_chain_is_named_once() {
    let file = |chains: &str| Settings::read(&format!("[schedule]\nchains = {chains}"), vec![]);
    assert_eq!(file(r#"["139=EVM", "136=TVM"]"#).unwrap().chains().len(), 2);
    let faults = file(r#"["139=EVM", "136=TVM", "139=TVM", "7"]"#).unwrap_err().to_string();
    assert!(faults.contains("schedule.chains: chain 139 is given more than once"), "{faults}");
    assert!(faults.contains("139=EVM or 136=TVM"), "{faults}");
}

#[test]
fn what_a_command_needs_is_named() {
    let settings = Settings::read("", vec![]).unwrap();
    let Err(Failure::Known(why)) = settings.signer() else { panic!() };
    assert!(why.to_string().contains("MERCHANT__SIGNER__"), "{why}");
}
