//! What a merchant may write down differently from one start to the next.

use crate::world::anvil::Family;
use crate::world::patience::Dice;
use crate::world::signer::Installation;
use crate::world::town::{Town, signer_address};
use alloy::primitives::Address;
use alloy::signers::local::PrivateKeySigner;
use std::collections::BTreeSet;
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

/// How a configuration differs from the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Twist {
    /// The other key is named among the retired ones.
    NamesTheOther,
    /// The chain takes nothing new.
    Retired,
    /// The contract is asked for terms and period.
    Lookup,
    /// The node is reached by another address.
    Elsewhere,
    /// Another contract is billed through, which knows nobody.
    OtherContract,
}

/// A configuration.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The one that the town was founded with.
    usual: String,
    /// The platform's number of the chain.
    pub(super) number: u32,
    key: Key,
    twists: BTreeSet<Twist>,
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
            twists: BTreeSet::new(),
            contracts: [town.contract, other].map(|contract| town.spell(contract)),
            nodes,
        }
    }

    /// Puts the second key where the configuration looks for it.
    pub(super) fn put_second_key(installation: &Installation) {
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
            2 => new.turn(Twist::NamesTheOther),
            3 => new.turn(Twist::Retired),
            4 => new.turn(Twist::Lookup),
            5 => new.turn(Twist::Elsewhere),
            6 => new.turn(Twist::OtherContract),
            _ => new.number = if self.number == 139 { 140 } else { 139 },
        }
        new
    }

    fn turn(&mut self, twist: Twist) {
        if !self.twists.remove(&twist) {
            self.twists.insert(twist);
        }
    }

    /// The same number and key, with nothing in the way of an end.
    pub(super) fn settled(&self) -> Self {
        let mut twists = self.twists.clone();
        twists.retain(|twist| ![Twist::Retired, Twist::OtherContract].contains(twist));
        twists.insert(Twist::NamesTheOther);
        Self { twists, ..self.clone() }
    }

    /// Has the next process find it.
    pub(super) fn write(&self, installation: &Installation) {
        fs::write(installation.path().join("signer.toml"), self.text()).unwrap();
    }

    fn is(&self, twist: Twist) -> bool {
        self.twists.contains(&twist)
    }

    fn text(&self) -> String {
        let mut keys = format!("key = {:?}\n", self.key.file());
        if self.is(Twist::NamesTheOther) {
            let other = self.key.other().file();
            keys = format!("{keys}retired_keys = [{other:?}]\n");
        }
        if self.is(Twist::Retired) {
            keys.push_str("retired = true\n");
        }
        let mut text = self.usual.replace("key = \"file:evm.key\"\n", &keys);
        if self.is(Twist::Lookup) {
            text = text.replace("lookup = \"none\"\n", "");
        }
        if self.is(Twist::OtherContract) {
            let [here, there] = &self.contracts;
            text = text.replace(&format!("contract = {here:?}"), &format!("contract = {there:?}"));
        }
        for [here, there] in self.nodes.iter().filter(|_| self.is(Twist::Elsewhere)) {
            text = text.replace(here.as_str(), there);
        }
        text.replace("[chains.139", &format!("[chains.{}", self.number))
    }
}
