//! Every file that can be wrong, and what becomes of files that change.

use super::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use tempfile::TempDir;

/// 2026-01-01, Unix seconds.
const NOW: i64 = 1_767_225_600;
const DAY: i64 = 86_400;

/// A directory with a certificate from 2025 until 2027.
struct Room(TempDir);

fn made(until_year: i32) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["signer.example".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(until_year, 1, 1);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

impl Room {
    fn new() -> Self {
        let room = Self(tempfile::tempdir().unwrap());
        room.holds(&made(2027));
        room
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        write(self.path(name), text).unwrap();
        set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }

    fn holds(&self, made: &(String, String)) {
        let (certificate, key) = made;
        self.write("certificate", certificate, 0o644);
        self.write("key", key, 0o600);
    }

    fn files(&self) -> TlsFiles {
        let client_ca = self.path("ca").exists().then(|| self.path("ca"));
        TlsFiles {
            certificate: self.path("certificate"),
            key: self.path("key"),
            client_ca,
            identity: None,
        }
    }

    fn faults(&self) -> String {
        let faults = Tls::read(self.files(), NOW).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_of_that_file() {
    let room = Room::new();
    assert_eq!(room.faults(), "");
    let (certificate, key) = made(2027);
    let wrong: [(&str, &str, u32, &str); 9] = [
        ("certificate", "no PEM", 0o644, "certificate_file: holds no certificate in PEM"),
        ("certificate", &key, 0o600, "certificate_file: holds no certificate in PEM"),
        ("certificate", &certificate[..200], 0o644, "certificate_file: its PEM is damaged"),
        ("certificate", &made(2026).0, 0o644, "certificate_file: expired at 2026-01-01T00:00:00Z"),
        ("certificate", &certificate, 0o666, "certificate_file: everybody can change the file"),
        ("key", "no PEM", 0o600, "key_file: holds no private key in PEM"),
        ("key", &key, 0o600, "key_file: does not belong to the certificate"),
        ("key", &key, 0o640, "key_file: others can read or change the file (mode 0640)"),
        ("ca", &key, 0o600, "client_ca_file: holds no certificate in PEM"),
    ];
    for (name, text, mode, said) in wrong {
        let room = Room::new();
        room.write(name, text, mode);
        assert!(room.faults().starts_with(said), "{said}: {}", room.faults());
    }
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    room.write("key", encrypted, 0o600);
    assert!(room.faults().starts_with("key_file: is encrypted"), "{}", room.faults());
}

#[test]
fn all_faults_are_said_at_once_and_none_quotes_what_is_in_a_file() {
    let room = Room::new();
    for name in ["certificate", "key", "ca"] {
        room.write(name, "a secret text", 0o600);
    }
    let faults = room.faults();
    assert_eq!(faults.lines().count(), 3, "{faults}");
    assert!(!faults.contains("secret text"), "{faults}");
}

#[test]
fn a_certificate_of_tomorrow_is_a_matter_of_the_clock() {
    let room = Room::new();
    let early = Tls::read(room.files(), NOW - 400 * DAY).unwrap_err();
    assert!(early[0].problem.contains("look at this machine's clock"), "{early:?}");
}

#[test]
fn its_end_is_told_before_it_comes() {
    let room = Room::new();
    let tls = Tls::read(room.files(), NOW).unwrap();
    let end = tls.until();
    assert_eq!(shown(end), "2027-01-01T00:00:00Z");
    assert_eq!((tls.validity(end - 15 * DAY), tls.trouble(NOW)), (Validity::Good, None));
    assert_eq!(tls.validity(end - 13 * DAY), Validity::Ending);
    assert!(tls.trouble(end - 1).unwrap().contains("renew it"));
    assert_eq!((tls.validity(end - 1), tls.validity(end)), (Validity::Ending, Validity::Over));
}

#[test]
fn files_that_change_are_taken_when_they_are_good_and_not_before() {
    let room = Room::new();
    let tls = Tls::read(room.files(), NOW).unwrap();
    assert_eq!(tls.renew(NOW), Renewal::Same);
    let next = made(2028);
    room.write("certificate", &next.0, 0o644);
    let Renewal::Refused(why) = tls.renew(NOW) else { panic!("half of a pair") };
    assert!(why.contains("does not belong"), "{why}");
    assert_eq!(shown(tls.until()), "2027-01-01T00:00:00Z", "the old one is still in use");
    assert!(tls.trouble(NOW).unwrap().contains("are not used"));
    assert_eq!(tls.renew(NOW), Renewal::Same, "it is told once");
    room.write("key", &next.1, 0o600);
    assert_eq!((tls.renew(NOW), tls.trouble(NOW)), (Renewal::Taken, None));
    assert_eq!(shown(tls.until()), "2028-01-01T00:00:00Z");
}
