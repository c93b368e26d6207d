//! What a merchant may write down differently from one start to the next.

use crate::scenarios::signed_by::ANOTHER;
use crate::world::anvil::Family;
use crate::world::patience::Dice;
use crate::world::proxy::Proxy;
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
    /// A second provider has to agree.
    TwoNodes,
    /// Nothing is heard of entries that are passed over.
    OtherEvents,
    /// A function that the contract does not have, and events that it does not emit.
    OtherCall,
}

/// Another way to the town's node.
#[derive(Clone, Debug)]
pub(super) struct SecondNode {
    url: String,
    /// On TRON, its other side.
    solidity: Option<String>,
}

impl SecondNode {
    pub(super) async fn of(town: &Town) -> (Self, Proxy) {
        match town.family() {
            Family::Evm => {
                let proxy = Proxy::before(&town.anvil.url).await;
                (Self { url: proxy.url.clone(), solidity: None }, proxy)
            }
            Family::Tron => {
                let served = &town.tron().served;
                let proxy = Proxy::before(&served.full).await;
                let solidity = Some(proxy.and_before(&served.solidity).await);
                (Self { url: proxy.url.clone(), solidity }, proxy)
            }
        }
    }

    /// A configuration in which it stands beside the first.
    fn beside_the_first(&self, text: &str) -> String {
        let value = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
            (line.to_owned(), line.split_once(" = ").unwrap().1.to_owned())
        };
        let Self { url, solidity } = self;
        let Some(solidity) = solidity else {
            let (line, first) = value("rpc");
            return text.replace(&line, &format!("rpc = [{first}, {url:?}]"));
        };
        let [(full, first), (side, irrevocable), (door, jsonrpc)] =
            ["full", "solidity", "jsonrpc"].map(value);
        let nodes = format!(
            "nodes = [{{ full = {first}, solidity = {irrevocable}, jsonrpc = {jsonrpc} }}, \
             {{ full = {url:?}, solidity = {solidity:?} }}]"
        );
        text.replace(&full, &nodes)
            .replace(&format!("{side}\n"), "")
            .replace(&format!("{door}\n"), "")
    }
}

/// A chain that has nothing to do with the town's.
pub(crate) const ANOTHER_CHAIN: &str = r#"
[chains.7]
name = "other"
family = "evm"
eip155_id = 7
rpc = "http://127.0.0.1:9"
key = "file:evm.key"
test = true
contract = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
[chains.7.fees]
max_fee_per_gas = "5 gwei"
max_priority_fee_per_gas = "1 gwei"
max_tx_cost = "1 ether"
[chains.7.billing]
profile = "reference"
[chains.7.billing.constants]
merKey = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"#;

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
    second: SecondNode,
}

impl Setup {
    /// The usual one.
    pub(super) fn of(town: &Town, other: Address, second: SecondNode) -> Self {
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
            second,
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
        match dice.below(13) {
            0 | 1 => new.key = self.key.other(),
            2 => new.turn(Twist::NamesTheOther),
            3 => new.turn(Twist::Retired),
            4 => new.turn(Twist::Lookup),
            5 => new.turn(Twist::Elsewhere),
            6 => new.turn(Twist::OtherContract),
            7 => new.turn(Twist::TwoNodes),
            8 | 9 => new.turn(Twist::OtherEvents),
            10 => new.turn(Twist::OtherCall),
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
        let barred = [Twist::Retired, Twist::OtherContract, Twist::OtherCall];
        twists.retain(|twist| !barred.contains(twist));
        twists.insert(Twist::NamesTheOther);
        Self { twists, ..self.clone() }
    }

    /// Has the next process find it.
    pub(super) fn write(&self, installation: &Installation) {
        fs::write(installation.path().join("signer.toml"), self.text()).unwrap();
    }

    /// Has the next process find another chain in its place.
    pub(super) fn write_without_section(&self, installation: &Installation) {
        let (usual, _) = self.usual.split_once("[chains.139]").unwrap();
        fs::write(installation.path().join("signer.toml"), format!("{usual}{ANOTHER_CHAIN}"))
            .unwrap();
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
        let named = "profile = \"reference\"\n";
        let keys = if self.is(Twist::OtherCall) { 0..3 } else { 2..3 };
        for (key, value) in ANOTHER.get(keys).unwrap_or_default() {
            if self.is(Twist::OtherCall) || self.is(Twist::OtherEvents) {
                let key = key.to_lowercase();
                text = text.replace(named, &format!("{named}{key} = {value:?}\n"));
            }
        }
        if self.is(Twist::TwoNodes) {
            text = self.second.beside_the_first(&text);
        }
        for [here, there] in self.nodes.iter().filter(|_| self.is(Twist::Elsewhere)) {
            text = text.replace(here.as_str(), there);
        }
        text.replace("[chains.139", &format!("[chains.{}", self.number))
    }
}
