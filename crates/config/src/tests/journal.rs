//! Where the journal is: in a file or on a server, never in both.

use super::*;

/// `local.toml` with this in its section of the journal.
fn with(lines: &str) -> String {
    local(FILE, lines)
}

const FILE: &str = "path = \"data/local.sqlite\"";

#[test]
fn a_journal_is_a_file_unless_a_server_is_named() {
    let place = |lines: &str| load(&with(lines), &[]).unwrap().journal;
    assert_eq!(place("").to_string(), "data/journal.sqlite");
    let file = place("path = '/var/lib/signer/journal.sqlite'");
    assert_eq!(file.beside(".refusals").to_str(), Some("/var/lib/signer/journal.sqlite.refusals"));
}

/// The mark is written by giving another file its name.
#[test]
fn a_mark_has_a_name_that_no_file_of_the_journal_has() {
    for ending in ["", "-wal", "-shm", ".part", ".refusals", ".webhook"] {
        let mark = format!("{FILE}\nmark_path = 'data/local.sqlite{ending}'");
        let told = complaints(&with(&mark), &[]);
        assert!(told.starts_with("journal.mark_path: is the journal"), "{ending}: {told}");
    }
    for apart in ["data/local.sqlite.mark", "elsewhere/local.sqlite", "data/local.sqlite2"] {
        let told = load(&with(&format!("{FILE}\nmark_path = {apart:?}")), &[]);
        assert!(told.is_ok(), "{told:?}");
    }
}

#[cfg(feature = "postgres")]
mod on_a_server {
    use super::*;

    const MARK: &str = "mark_path = '/var/lib/signer/journal.mark'";
    const URL: &str = "url = 'postgresql://signer:hunter2@db.example:5433/billing?sslmode=require'";

    fn server(config: &Config) -> &JournalServer {
        let JournalPlace::Server(server) = &config.journal else { panic!("{:?}", config.journal) };
        server
    }

    #[test]
    fn its_url_is_given_as_any_secret_is_and_never_shown() {
        let room = tempfile::tempdir().unwrap();
        let text = URL.trim_start_matches("url = '").trim_end_matches('\'');
        let file = closed_file(&room, "url", &format!("{text}\n"));
        let in_file = format!("{MARK}\nurl_file = {:?}", file.display());
        let environment = [("SIGNER__JOURNAL__URL", text)];
        for config in [
            load(&with(&format!("{MARK}\n{URL}")), &[]),
            load(&with(&in_file), &[]),
            load(&with(MARK), &environment),
        ] {
            let config = config.unwrap();
            let found = server(&config);
            assert_eq!(found.url.expose().get_password(), Some(b"hunter2".as_slice()));
            assert_eq!(found.timeout, Duration::from_secs(10));
            assert_eq!(config.journal.to_string(), "postgresql://db.example:5433/billing");
            assert!(!format!("{config:?} {config:#?}").contains("hunter2"));
            let beside = config.journal.beside(".webhook");
            assert_eq!(beside.to_str(), Some("/var/lib/signer/journal.webhook"));
        }
    }

    #[test]
    fn what_contradicts_it_is_told_at_once() {
        let found =
            complaints(&with(&format!("{URL}\npath = 'x'\nbackup_dir = 'y'\ntimeout = '1h'")), &[]);
        let keys: Vec<_> = found.lines().filter_map(|line| line.split_once(": ")).collect();
        let keys: Vec<_> = keys.into_iter().map(|(key, _)| key).collect();
        let all = ["journal.backup_dir", "journal.mark_path", "journal.path", "journal.timeout"];
        assert_eq!(keys, all, "{found}");
        assert!(found.contains("keep one of the two"), "{found}");
        for (lines, told) in [
            ("authority_file = 'a'\ntimeout = '5s'".to_owned(), "goes with journal.url alone"),
            (
                "copy_dir = 'a'".to_owned(),
                "journal.copy_dir: not understood any more: set journal.backup_dir",
            ),
            (
                "peers = { a = 'https://a' }".to_owned(),
                "journal.peers: not understood any more: a Signer that stands by passes nothing on",
            ),
            (
                "peers_authority_file = 'a'".to_owned(),
                "journal.peers_authority_file: not understood any more",
            ),
            ("backup_dri = 'a'".to_owned(), "did you mean \"backup_dir\"?"),
            ("backup_every = '0s'".to_owned(), "journal.backup_every: "),
            ("backup_keep = 0".to_owned(), "journal.backup_keep: "),
            (format!("{URL}\nurl_file = '/nowhere'\n{MARK}"), "journal.url: set beside url_file"),
            (format!("{MARK}\nurl = 'mysql://a:hunter2@b/c'"), "is no URL of a database"),
            (format!("{MARK}\nurl = 'postgresql://a:hunter2@b'"), "names no database"),
            (format!("{MARK}\nurl = 'postgresql://db.example/c'"), "names no role"),
            (format!("{MARK}\nurl = 'postgresql:///c?user=a'"), "names no host"),
            (format!("{MARK}\nurl = 'postgresql://a:hunter2@b/c?what=1'"), "is no URL"),
        ] {
            let found = complaints(&with(&lines), &[]);
            assert!(found.contains(told) && found.starts_with("journal."), "{found}");
            assert!(!found.contains("hunter2"), "{found}");
        }
    }

    #[test]
    fn its_password_is_not_for_everybody_to_read() {
        let room = tempfile::tempdir().unwrap();
        let text = local("test = true", "test = false\npolicy.unlimited = true");
        let secret = file_of_mode(&room, "secret", "0123456789abcdefghij", 0o600);
        let text = text.replace(
            "secret = \"local-example-secret-do-not-use-elsewhere\"",
            &format!("secret_file = {:?}", secret.display()),
        );
        let told = |url: &str| {
            let text = text.replace(FILE, &format!("{MARK}\n{url}"));
            let file = file_of_mode(&room, "signer.toml", &text, 0o644);
            Config::load(Some(&file)).map_err(|why| why.to_string())
        };
        let found = told(URL).unwrap_err();
        assert!(found.starts_with("journal.url: stands in the configuration file"), "{found}");
        told("url = 'postgresql://signer@db.example/billing'").unwrap();
    }
}
