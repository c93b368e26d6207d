//! Where a key may be, and how a store of keys is reached.

use super::*;

#[test]
fn a_key_may_be_in_a_store_and_then_it_is_said_whose_it_has_to_be() {
    let read = |key: &str, environment: &[(&str, &str)]| {
        load(&local("keystore:billing", key), environment).map(|config| signs(&config).clone())
    };
    let whose = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    let arn = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab";
    let stored = |text: String| match read(&format!("{text}@{whose}"), &[]) {
        Ok(KeyRef::Store(key)) if key.address.to_string() == whose => (key.name, key.custody),
        other => panic!("{other:?}"),
    };
    let [mount, path, field] = ["kv", "a/b-1", "key"].map(str::to_owned);
    let name = StoreName::Vault(VaultSecret { mount, path, field });
    assert_eq!(stored("vault:kv/a/b-1#key".to_owned()), (name, Custody::Exports));
    let region = "eu-central-1".to_owned();
    let name = StoreName::AwsKms(KmsKey { arn: arn.to_owned(), region: region.clone() });
    assert_eq!(stored(format!("awskms:{arn}")), (name, Custody::Signs));
    let secret = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:signer/b@1-a1B2c3";
    for (named, field) in [(secret.to_owned(), None), (format!("{secret}#key"), Some("key"))] {
        let field = field.map(str::to_owned);
        let name = AwsSecret { arn: secret.to_owned(), region: region.clone(), field };
        let name = StoreName::AwsSecret(name);
        assert_eq!(stored(format!("awssecret:{named}")), (name, Custody::Exports));
    }
    let version = "projects/p-1/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
    let name = StoreName::GcpKms(GcpKey(version.to_owned()));
    assert_eq!(stored(format!("gcpkms:{version}")), (name, Custody::Signs));
    for (named, key) in [
        ("billing key", TokenKey::Label("billing key".to_owned())),
        ("id=01aB", TokenKey::Id(vec![1, 0xab])),
    ] {
        let name = StoreName::Pkcs11(key);
        assert_eq!(stored(format!("pkcs11:{named}")), (name, Custody::Signs));
    }
    let systemd = [("CREDENTIALS_DIRECTORY", "/run/credentials/signer.service")];
    let Ok(KeyRef::File(path)) = read("credential:billing", &systemd) else { panic!("it is one") };
    assert_eq!(path, Path::new("/run/credentials/signer.service/billing"));
}

#[test]
fn a_key_in_a_store_is_named_wholly_and_with_its_address() {
    let whose = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    let arn = "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab";
    let secret = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:signer/b@1-a1B2c3";
    let version = "projects/p-1/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
    for wrong in [
        "credential:billing".to_owned(),
        format!("vault:kv/a#key@{}", &whose[..41]),
        "vault:kv/a#key".to_owned(),
        format!("vault:kv#key@{whose}"),
        format!("vault:kv/a@{whose}"),
        format!("vault:kv/../a#key@{whose}"),
        format!("vault:kv/a?version=1#key@{whose}"),
        format!("awskms:{arn}"),
        format!("awskms:alias/billing@{whose}"),
        format!("awskms:{}@{whose}", arn.replace("key/", "alias/")),
        format!("awskms:{}@{whose}", arn.replace(":kms:", ":s3:")),
        format!("awskms:{}@{whose}", arn.replace("eu-central-1", "evil.example/")),
        format!("awssecret:{secret}"),
        format!("awssecret:{secret}#@{whose}"),
        format!("awssecret:{arn}@{whose}"),
        format!("awssecret:{}@{whose}", secret.replace("signer/", "signer?")),
        format!("awssecret:{}@{whose}", secret.replace("eu-central-1", "evil.example/")),
        format!("gcpkms:{version}"),
        format!("gcpkms:{}@{whose}", version.replace("/cryptoKeyVersions/3", "")),
        format!("gcpkms:{}@{whose}", version.replace("/3", "/latest")),
        format!("gcpkms:{}@{whose}", version.replace("p-1", "..")).replace("global", "a?b"),
        "pkcs11:billing".to_owned(),
        format!("pkcs11:@{whose}"),
        format!("pkcs11:id=@{whose}"),
        format!("pkcs11:id=billing@{whose}"),
    ] {
        assert!(load(&local("keystore:billing", &wrong), &[]).is_err(), "{wrong}");
    }
}

#[test]
fn a_server_of_keys_is_reached_unseen_and_in_one_way() {
    let with = |lines: &str| complaints_or_none(&format!("[keys.vault]\n{lines}\n{LOCAL}"));
    let url = "url = \"https://vault.example:8200/\"";
    let token = "token_file = \"/run/token\"";
    let role = "role_id = \"r\"\nsecret_id_file = \"/run/id\"";
    for good in [
        format!("{url}\n{token}"),
        format!("{url}\n{role}"),
        format!("{url}\nkubernetes_role = \"s\""),
    ] {
        assert_eq!(with(&good), None, "{good}");
    }
    for (bad, key) in [
        (url.to_owned(), "keys.vault.token_file"),
        (format!("{url}\n{token}\n{role}"), "keys.vault.token_file"),
        (format!("{url}\nrole_id = \"r\""), "keys.vault.token_file"),
        (token.to_owned(), "keys.vault.url"),
        (format!("url = \"http://vault.example\"\n{token}"), "keys.vault.url"),
        (format!("url = \"https://u:p@vault.example\"\n{token}"), "keys.vault.url"),
        (format!("{url}\n{token}\ntoken = \"hvs\""), "keys.vault.token"),
    ] {
        let told = with(&bad).unwrap_or_default();
        assert!(told.contains(key), "{bad}: {told}");
    }
}

#[test]
fn a_token_is_described_wholly() {
    let with = |lines: &str| complaints_or_none(&format!("[keys.pkcs11]\n{lines}\n{LOCAL}"));
    let keys = ["module = \"/usr/lib/hsm.so\"", "token = \"billing\"", "pin_file = \"/run/pin\""];
    assert_eq!(with(&keys.join("\n")), None);
    for (without, name) in ["module", "token", "pin_file"].into_iter().enumerate() {
        let mut left = keys.to_vec();
        left.remove(without);
        let told = with(&left.join("\n")).unwrap_or_default();
        assert!(told.contains(&format!("keys.pkcs11.{name}")), "{told}");
    }
    let told = with(&format!("{}\npin = \"1234\"", keys.join("\n"))).unwrap_or_default();
    assert!(told.contains("keys.pkcs11.pin") && !told.contains("1234"), "{told}");
}

fn complaints_or_none(text: &str) -> Option<String> {
    load(text, &[]).err().map(|errors| errors.to_string())
}

#[test]
fn several_keys_sign_where_they_are_listed_and_never_beside_a_single_one() {
    let with = |lines: &str| local("key = \"keystore:billing\"", lines);
    let places = |text: &str, environment: &[(&str, &str)]| {
        let chain = load(text, environment).unwrap().chains.remove(0);
        let told = chain.keys.signing().map(|(at, key)| format!("{at}: {key:?}"));
        (told.collect::<Vec<_>>(), chain.keys.retired.len())
    };
    let two = ["keys[0]: Keystore(\"a\")", "keys[1]: Keystore(\"b\")"].map(str::to_owned).to_vec();
    let listed = with("keys = [\"keystore:a\", \"keystore:b\"]\nretired_keys = [\"keystore:old\"]");
    assert_eq!(places(&listed, &[]), (two.clone(), 1));
    let variable = [("SIGNER__CHAINS__139__KEYS", "keystore:a keystore:b")];
    assert_eq!(places(&with(""), &variable), (two, 0));
    let one = vec!["key: Keystore(\"billing\")".to_owned()];
    assert_eq!(places(LOCAL, &[]), (one, 0), "as it ever was");
    for (lines, told) in [
        ("keys = [\"keystore:a\"]\nkey = \"keystore:b\"", "chains.139.keys: stands beside key"),
        ("keys = []", "chains.139.keys: is empty"),
        ("keys = [\"keystore:a\", \"b\"]", "chains.139.keys[1]: is none of these"),
        ("", "chains.139.key: missing"),
    ] {
        let complaints = complaints(&with(lines), &[]);
        assert!(complaints.contains(told), "{lines}: {complaints}");
    }
}
