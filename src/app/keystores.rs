//! `merchant-signer keys`: encrypted keystores are made, filled and listed.

use alloy::primitives::Address;
use billing::{Family, spell_address};
use clap::Subcommand;
use keys;
use secrecy::SecretString;
use std::error::Error;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

/// The longest keystore that is read for its fault, bytes.
const LONGEST_KEYSTORE: usize = 64 * 1024;

/// The commands for keystores.
#[derive(Subcommand, Debug)]
pub enum KeysCommand {
    /// Make a key by chance and store it encrypted: it never is anywhere in clear.
    New {
        /// The keystore's name, as in `key = "keystore:<name>"`.
        name: String,
        /// A file with the password; without it a random one is made. It is stored beside the
        /// keystore in either case.
        #[arg(long)]
        password_file: Option<PathBuf>,
    },
    /// Read a private key (64 hex digits) from standard input and store it encrypted. Input typed at a terminal is
    /// not shown.
    Import {
        /// The keystore's name, as in `key = "keystore:<name>"`.
        name: String,
        /// A file with the password; without it a random one is made. It is stored beside the
        /// keystore in either case.
        #[arg(long)]
        password_file: Option<PathBuf>,
    },
    /// List keystores and their addresses, on EVM chains and on TRON.
    List,
}

/// Makes, imports or lists keystores, and tells of them.
pub fn run(directory: &Path, command: &KeysCommand) -> Result<String, Box<dyn Error>> {
    let (address, name) = match command {
        KeysCommand::List => {
            let told = |(name, address): (String, Option<Address>)| match address {
                Some(address) => format!("{}  {name}", spellings(address)),
                None => format!("unreadable  {name}: {}", why_unreadable(directory, &name)),
            };
            let all: Vec<String> = keys::list(directory)?.into_iter().map(told).collect();
            return Ok(all.join("\n"));
        }
        KeysCommand::New { name, password_file } => {
            let password = password(password_file.as_deref())?;
            (keys::generate(directory, name, &password)?, name)
        }
        KeysCommand::Import { name, password_file } => {
            (import(directory, name, password_file.as_deref())?, name)
        }
    };
    Ok(format!("{}  {name}", spellings(address)))
}

/// Why a keystore was listed without an address.
fn why_unreadable(directory: &Path, name: &str) -> String {
    let path = directory.join(format!("{name}.json"));
    match keys::private_file::read(&path, "keys list", LONGEST_KEYSTORE) {
        Err(why) => why.to_string(),
        Ok(_) => format!("{} is not a keystore that states its address", path.display()),
    }
}

fn import(
    directory: &Path,
    name: &str,
    password_file: Option<&Path>,
) -> Result<Address, Box<dyn Error>> {
    let key = if io::stdin().is_terminal() {
        rpassword::prompt_password("private key, not shown: ")?
    } else {
        let mut line = String::with_capacity(128);
        io::stdin().lock().read_line(&mut line)?;
        line
    };
    Ok(keys::import(directory, name, key.into(), password(password_file)?)?)
}

/// The password in the file, or a random one.
fn password(file: Option<&Path>) -> Result<SecretString, Box<dyn Error>> {
    Ok(match file {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|why| format!("--password-file {} cannot be read: {why}", path.display()))?
            .into(),
        None => keys::random_password()?,
    })
}

/// The address of a key on EVM chains and on TRON: a key does not know what it is for.
fn spellings(address: Address) -> String {
    [Family::Evm, Family::Tvm].map(|family| spell_address(family, address)).join("  ")
}
