//! The first configuration of an installation, for a network that is known. A file of `config/networks` holds the
//! settings of one network. The settings that only the merchant knows are left open, so that `check` asks for them.

use keys::{self, private_file};
use secrecy::ExposeSecret as _;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Networks by name, each with the keys of its chain: the files of `config/networks` (`build.rs`).
const NETWORKS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/networks.rs"));

/// Paths of the first callers' secrets, beside the configuration.
const SECRETS: [&str; 2] = ["secrets/scheduler", "secrets/operator"];

/// The reason that there is nothing to go by: no file, and no variable either.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no {file} in {}: go to its directory, name it with --config, or write one with `merchant-signer init \
     --network NETWORK --chain ID`",
    directory.display()
)]
pub struct NoConfig {
    /// The usual name.
    file: &'static str,
    /// The directory in which the program was started.
    directory: PathBuf,
}

/// Refuses to go on without a configuration, where neither `path` nor the environment has one. `usual` is the name of
/// the file that is looked for.
pub fn refuse_none(path: Option<&Path>, usual: &'static str) -> Result<(), NoConfig> {
    if path.is_some() || config::is_in_environment() {
        return Ok(());
    }
    Err(NoConfig { file: usual, directory: std::env::current_dir().unwrap_or_default() })
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum NoFirstConfig {
    /// There is a file already.
    #[error("there is already a file at {0}: a configuration is never replaced")]
    Exists(String),
    /// It cannot be written.
    #[error("{path} cannot be written: {problem}")]
    Unwritable {
        /// The location.
        path: String,
        /// The system's message.
        problem: io::Error,
    },
    /// No secret could be made.
    #[error(transparent)]
    NoSecret(#[from] keys::KeyError),
}

/// The names of the networks that are known.
pub fn names() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(name, _)| *name)
}

/// The text of a configuration for the network of this name, under the id that the platform gave it, with the
/// journal in a directory; none where no network has the name.
pub fn text(network: &str, platform_id: u32, data: &str) -> Option<String> {
    let [scheduler, operator] = SECRETS;
    let journal = serde_json::Value::from(format!("{data}/journal.sqlite"));
    let (_, chain) = NETWORKS.iter().find(|(name, _)| *name == network)?;
    let (about, chain) = chain.split_at(chain.find("\nname")?);
    let chain = chain.trim_start();
    let below = format!("[chains.{platform_id}.");
    let lines = chain.lines().map(|line| match line.strip_prefix('[') {
        Some(section) => format!("{below}{section}\n"),
        None => format!("{line}\n"),
    });
    let chain: String = lines.collect();
    Some(format!(
        "# A first configuration. What stands in <…> is yours to fill in; `merchant-signer check` says what
# is missing. Every key and its default: config/default.toml. A path that is relative starts at the directory of
# this file.

[journal]
path = {journal}
# By the mark it is noticed that an old copy of the journal was put back. Beside the journal, a snapshot of
# the disk brings it back as well: give it a place on another disk.
# mark_path = \"/another/disk/journal.mark\"

[keys]
directory = \"keys\"

# Who asks for charges.
[callers.scheduler]
key = \"scheduler\"
secret_file = \"{scheduler}\"

# Who pauses, resumes and resolves, and never charges: people, and the commands of this program.
[callers.operator]
key = \"operator\"
secret_file = \"{operator}\"
bill = false
control = true

{about}
[chains.{platform_id}]
default = true
{chain}"
    ))
}

/// Writes that text to a new file, and new secrets beside it. Never replaces a file.
pub fn write(text: &str, to: &Path) -> Result<(), NoFirstConfig> {
    if to.exists() {
        return Err(NoFirstConfig::Exists(to.display().to_string()));
    }
    let here = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    for secret in SECRETS {
        draw(&here.unwrap_or(Path::new(".")).join(secret))?;
    }
    create(to, text.as_bytes())
}

/// A new secret, where there is none.
fn draw(secret: &Path) -> Result<(), NoFirstConfig> {
    if secret.exists() {
        return Ok(());
    }
    let directory = secret.parent().unwrap_or(Path::new("."));
    let made = private_file::create_directory(directory);
    made.map_err(|problem| unwritable(directory, problem))?;
    let drawn = keys::random_password()?;
    #[expect(clippy::disallowed_methods, reason = "its own file is where it belongs")]
    create(secret, drawn.expose_secret().as_bytes())
}

fn create(path: &Path, contents: &[u8]) -> Result<(), NoFirstConfig> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    private_file::create(directory.unwrap_or(Path::new(".")), name, contents)
        .map_err(|problem| unwritable(path, problem))
}

fn unwritable(path: &Path, problem: io::Error) -> NoFirstConfig {
    NoFirstConfig::Unwritable { path: path.display().to_string(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;
    use std::fmt::Write as _;

    /// The text as a merchant fills it in.
    fn filled(network: &str) -> String {
        let text = text(network, 139, "data").unwrap();
        let tron = text.contains("\"tvm\"");
        let address = if tron {
            "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
        } else {
            "0x5FbDB2315678afecb367f032d93F642f64180aa3"
        };
        let mut filled = String::new();
        for (place, part) in text.split('<').enumerate() {
            let (what, rest) = part.split_once('>').unwrap_or(("", part));
            match what {
                "https://…" => write!(filled, "https://node-{place}.example").unwrap(),
                what if what.starts_with("the most") => filled.push_str("1000000"),
                what if what.starts_with("the ") => filled.push_str(address),
                "" | "…" => {}
                other => panic!("<{other}> is not filled in"),
            }
            filled.push_str(rest);
        }
        let [scheduler, operator] = SECRETS.map(|file| format!("secret_file = \"{file}\""));
        let filled = filled.replace(&scheduler, "secret = \"8f14e45fceea167a5a36dedd4bea2543\"");
        filled.replace(&operator, "secret = \"c9f0f895fb98ab9159f51fd0297e236d\"")
    }

    #[test]
    fn every_network_is_accepted_once_it_is_filled_in() {
        for network in names() {
            let text = filled(network);
            let config =
                Config::from_toml(&text, &[]).unwrap_or_else(|e| panic!("{network}: {e}\n{text}"));
            let chain = &config.chains[0];
            assert_eq!((chain.name.as_str(), chain.platform_id.0), (network, 139));
            if !chain.test {
                let play = text.replacen("[chains.139]\n", "[chains.139]\ntest = true\n", 1);
                let told = Config::from_toml(&play, &[]).unwrap_err().to_string();
                assert!(
                    told.contains("where money is"),
                    "{network} lacks in main_networks.rs: {told}"
                );
            }
            assert!(!chain.policy.unlimited, "{network}");
            let may = |caller: &config::Caller| {
                let rights = &caller.rights;
                (caller.label.clone(), rights.bill, rights.control)
            };
            let [operator, scheduler] = [("operator", false, true), ("scheduler", true, false)]
                .map(|(label, bill, control)| (label.to_owned(), bill, control));
            let callers: Vec<_> = config.callers.iter().map(may).collect();
            assert_eq!(callers, [operator, scheduler], "somebody may pause from the first day on");
        }
    }

    #[test]
    fn what_a_network_is_stands_whole_above_its_section() {
        for network in names() {
            let text = text(network, 139, "data").unwrap();
            let (before, after) = text.split_once("[chains.139]\ndefault = true\n").unwrap();
            assert!(before.lines().last().is_some_and(|line| line.starts_with("# ")), "{before}");
            assert!(after.starts_with("name = "), "{network}: {after}");
        }
    }

    #[test]
    fn what_only_the_merchant_knows_is_asked_for() {
        for network in names().filter(|network| *network != "local") {
            let told = Config::from_toml(&text(network, 139, "/data").unwrap(), &[])
                .unwrap_err()
                .to_string();
            assert!(told.contains("chains.139.contract: "), "{network}: {told}");
            assert!(told.contains("secret_file: there is no file"), "{told}");
        }
        assert_eq!(text("atlantis", 139, "data"), None);
    }
}
