//! Paths in a configuration. A relative one starts at the directory of the configuration file, so that it
//! means the same whatever directory a command is given in; without a file, at the working directory.

use super::journal::USUAL_FILE;
use super::tree::{self, Walk};
use config_rs::{Value, ValueKind};
use std::path::Path;

/// The keys that hold a path, beside every key whose name ends in one of [`ENDINGS`].
const PATHS: [&str; 4] = ["journal.path", "keys.directory", "keys.socket", "keys.pkcs11.module"];
const ENDINGS: [&str; 3] = ["_file", "_path", "_dir"];

/// The keys of a chain that name keys, of which some are files.
const KEYS: [&str; 3] = ["key", "keys", "retired_keys"];
const KEY_FILE: &str = "file:";

/// Has every path of a merged tree start where the configuration file is.
pub(super) fn start_at(file: Option<&Path>, tree: &mut Value) {
    let home = file.and_then(Path::parent).filter(|home| !home.as_os_str().is_empty());
    let Some(home) = home else { return };
    state_the_journal(tree);
    tree::entries(tree, "", &mut |path, name, value| {
        if is_path(path, name) {
            tree::texts(value, &mut |text| start(text, home));
        } else if path.starts_with("chain") && KEYS.contains(&name) {
            tree::texts(value, &mut |text| {
                if let Some(file) = text.strip_prefix(KEY_FILE) {
                    let mut file = file.to_owned();
                    start(&mut file, home);
                    *text = format!("{KEY_FILE}{file}");
                }
            });
        } else {
            return Walk::Inside;
        }
        Walk::Past
    });
}

fn is_path(path: &str, name: &str) -> bool {
    PATHS.contains(&tree::below(path, name).as_str())
        || ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Has a relative path start at `home`.
fn start(text: &mut String, home: &Path) {
    if !text.is_empty()
        && Path::new(text).is_relative()
        && let Some(joined) = home.join(&*text).to_str()
    {
        joined.clone_into(text);
    }
}

/// A journal that is on no server and of which nothing is said is in the usual file.
fn state_the_journal(tree: &mut Value) {
    let ValueKind::Table(sections) = &mut tree.kind else { return };
    let Some(ValueKind::Table(journal)) = sections.get_mut("journal").map(|it| &mut it.kind) else {
        return;
    };
    if !["url", "url_file"].iter().any(|key| journal.contains_key(*key)) {
        journal.entry("path".to_owned()).or_insert_with(|| Value::new(None, USUAL_FILE));
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, FamilyConfig, SigningText};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    fn install(room: &Path, more: &str) -> std::path::PathBuf {
        let text =
            include_str!("tests/local.toml").replace("secret = ", "secret_file = \"secrets/a\" # ");
        let text = text.replace("path = \"data/local.sqlite\"", "backup_dir = \"backups\"");
        let text = text.replace("keystore:billing", "file:keys/a");
        std::fs::create_dir(room.join("secrets")).unwrap();
        for (name, text) in
            [("signer.toml", text + more), ("secrets/a", "a secret of a caller".to_owned())]
        {
            std::fs::write(room.join(name), text).unwrap();
            std::fs::set_permissions(room.join(name), Permissions::from_mode(0o600)).unwrap();
        }
        room.join("signer.toml")
    }

    #[test]
    fn relative_paths_start_where_the_configuration_file_is() {
        let room = tempfile::tempdir().unwrap();
        let file = install(room.path(), "");
        let config = Config::load(Some(&file)).unwrap_or_else(|why| panic!("{why}"));
        let journal = config.journal.file().unwrap();
        assert_eq!(journal.path, room.path().join("data/journal.sqlite"));
        let backups = journal.backups.as_ref().map(|plan| plan.directory.clone());
        assert_eq!(backups, Some(room.path().join("backups")));
        assert_eq!(config.keys.directory, room.path().join("keys"));
        assert_eq!(config.keys.ceiling_file, room.path().join("data/journal.sqlite.signed"));
        let FamilyConfig::Evm(_) = &config.chains[0].family else { panic!("{config:?}") };
        let named = format!("{:?}", config.chains[0].keys);
        assert!(named.contains(&format!("{}/keys/a", room.path().display())), "{named}");
        let held = SigningText::load(Some(&file)).unwrap().text;
        assert!(held.contains(&format!("\"file:{}/keys/a\"", room.path().display())), "{held}");
    }

    #[test]
    fn a_file_that_is_not_there_is_told_by_the_directory_that_was_tried() {
        let room = tempfile::tempdir().unwrap();
        let file = install(room.path(), "");
        let tried = room.path().join("secrets");
        std::fs::remove_file(tried.join("a")).unwrap();
        let told = |file: &Path| Config::load(Some(file)).unwrap_err().to_string();
        let said = format!("there is no file {}/a: check the path", tried.display());
        assert!(told(&file).contains(&said), "{}", told(&file));
        let secret = "xk3vQ8rT2mW9pL5s";
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("secrets/a", &format!("secrets/{secret}"))).unwrap();
        let (said, told) = (format!("of this name below {}:", tried.display()), told(&file));
        assert!(told.contains(&said) && !told.contains(secret), "{told}");
    }

    #[test]
    fn absolute_paths_and_a_configuration_that_is_in_no_file_stay_as_they_are() {
        let room = tempfile::tempdir().unwrap();
        let file = install(
            room.path(),
            "\n[http.tls]\ncertificate_file = \"/nowhere/tls.pem\"\nkey_file = \"tls.key\"",
        );
        let told = Config::load(Some(&file)).unwrap_err().to_string();
        assert!(told.contains("there is no file /nowhere/tls.pem: check the path"), "{told}");
        let config = Config::from_toml(include_str!("tests/local.toml"), &[]).unwrap();
        assert_eq!(config.journal.file().unwrap().path, Path::new("data/local.sqlite"));
    }
}
