//! What a merchant may write down differently from one start to the next.

use crate::world::anvil::Family;
use crate::world::patience::Dice;
use crate::world::signer::Installation;
use crate::world::town::{Town, signer_address};
use alloy::primitives::Address;
use alloy::signers::local::PrivateKeySigner;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;

/// The key of the other account that may bill.
const SECOND: &str = "2c9f8e7d6b5a4938271605f4e3d2c1b0a9f8e7d6c5b4a39281706f5e4d3c2b1a";

/// Who signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    First,
    Second,
}

impl Key {
    pub(super) fn address(self) -> Address {
        match self {
            Self::First => signer_address(),
            Self::Second => SECOND.parse::<PrivateKeySigner>().unwrap().address(),
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::First => "file:evm.key",
            Self::Second => "file:second.key",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// A configuration.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The one that the town was founded with.
    usual: String,
    /// The platform's number of the chain.
    pub(super) number: u32,
    key: Key,
    /// Whether the other key is named among the retired ones.
    names_the_other: bool,
    /// Whether the chain takes nothing new.
    retired: bool,
    lookup: bool,
    /// Whether the node is reached by another address.
    elsewhere: bool,
    /// Whether another contract is billed through, which knows nobody.
    other_contract: bool,
    contracts: [String; 2],
    /// The node's addresses: as usual, and elsewhere.
    nodes: Vec<[String; 2]>,
}

impl Setup {
    /// The usual one.
    pub(super) fn of(town: &Town, other: Address) -> Self {
        let path = town.installation.path().join("signer.toml");
        let nodes = match town.family() {
            Family::Evm => vec![[town.proxy.url.clone(), town.anvil.url.clone()]],
            Family::Tron => vec![[town.proxy.url.clone(), town.tron().served.full.clone()]],
        };
        Self {
            usual: fs::read_to_string(path).unwrap(),
            number: 139,
            key: Key::First,
            names_the_other: false,
            retired: false,
            lookup: false,
            elsewhere: false,
            other_contract: false,
            contracts: [town.contract, other].map(|contract| town.spell(contract)),
            nodes,
        }
    }

    /// Puts the second key where the configuration looks for it.
    pub(super) fn put_second_key(&self, installation: &Installation) {
        use std::io::Write as _;
        let path = installation.path().join("second.key");
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        writeln!(file.unwrap(), "{SECOND}").unwrap();
    }

    /// The same, but for one thing.
    pub(super) fn changed(&self, dice: &mut Dice) -> Self {
        let mut new = self.clone();
        match dice.below(9) {
            0 | 1 => new.key = self.key.other(),
            2 => new.names_the_other = !self.names_the_other,
            3 => new.retired = !self.retired,
            4 => new.lookup = !self.lookup,
            5 => new.elsewhere = !self.elsewhere,
            6 => new.other_contract = !self.other_contract,
            _ => new.number = if self.number == 139 { 140 } else { 139 },
        }
        new
    }

    /// The same number and key, with nothing in the way of an end.
    pub(super) fn settled(&self) -> Self {
        let (retired, other_contract) = (false, false);
        Self { retired, other_contract, names_the_other: true, ..self.clone() }
    }

    /// Has the next process find it.
    pub(super) fn write(&self, installation: &Installation) {
        fs::write(installation.path().join("signer.toml"), self.text()).unwrap();
    }

    fn text(&self) -> String {
        let mut keys = format!("key = {:?}\n", self.key.file());
        if self.names_the_other {
            keys.push_str(&format!("retired_keys = [{:?}]\n", self.key.other().file()));
        }
        if self.retired {
            keys.push_str("retired = true\n");
        }
        let mut text = self.usual.replace("key = \"file:evm.key\"\n", &keys);
        if self.lookup {
            text = text.replace("lookup = \"none\"\n", "");
        }
        if self.other_contract {
            let [here, there] = &self.contracts;
            text = text.replace(&format!("contract = {here:?}"), &format!("contract = {there:?}"));
        }
        for [here, there] in self.nodes.iter().filter(|_| self.elsewhere) {
            text = text.replace(here.as_str(), there);
        }
        text.replace("[chains.139", &format!("[chains.{}", self.number))
    }
}
