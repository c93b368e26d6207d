//! The contract profiles that come with the program, by name.

use std::sync::LazyLock;

use config_rs::{Config, File, FileFormat, Value, ValueKind};

use super::kinds::{Expected, word};
use super::reader::Table;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The profile of the reference contract.
const REFERENCE: &str = include_str!("../../../config/contracts/reference.toml");

/// A profile that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Shipped {
    /// `config/contracts/reference.toml`
    Reference,
}

impl Shipped {
    /// Returns the settings of the profile, for a `billing` section to fall back on.
    pub(super) fn table(self) -> Table<'static> {
        static TREE: LazyLock<Value> = LazyLock::new(|| parse(REFERENCE));
        match self {
            Self::Reference => Table::of("the profile \"reference\"", &TREE),
        }
    }
}

/// The name of a profile.
pub(super) fn shipped() -> Expected<Shipped> {
    word("is no profile that comes with the program")
}

/// A text that is part of the program. A test says that it can be read.
fn parse(text: &str) -> Value {
    let source = File::from_str(text, FileFormat::Toml);
    let tree = Config::builder().add_source(source).build();
    tree.map_or_else(|_| Value::new(None, ValueKind::Nil), |tree| tree.cache)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BillingConfig, Config, FamilyConfig};
    use std::collections::BTreeMap;

    const CHAIN: &str = r#"
        allow_unauthenticated = true
        [chains.139]
        name = "a"
        family = "evm"
        test = true
        eip155_id = 31337
        rpc = "http://127.0.0.1:8545"
        contract = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
        key = "keystore:billing"
        [chains.139.fees]
        max_fee_per_gas = "200 gwei"
        max_priority_fee_per_gas = "5 gwei"
        max_tx_cost = "1 ether"
        [chains.139.billing]
    "#;

    fn billing(said: &str) -> Result<BillingConfig, String> {
        let config = Config::from_toml(&format!("{CHAIN}\n{said}"), &[]);
        let chain = config.map_err(|faults| faults.to_string())?.chains.remove(0);
        match chain.family {
            FamilyConfig::Evm(evm) => Ok(evm.billing.clone()),
            FamilyConfig::Tvm(_) => panic!("the family is evm"),
        }
    }

    #[test]
    fn a_profile_by_its_name_is_the_text_of_its_file() {
        let named = billing("profile = \"reference\"").unwrap();
        let spelt_out = REFERENCE.replace("[reasons]", "[chains.139.billing.reasons]");
        assert_eq!(format!("{named:?}"), format!("{:?}", billing(&spelt_out).unwrap()));
        assert!(named.reasons.len() > 10 && named.constants == BTreeMap::new());
        assert!(named.call.starts_with("processSubscribePlan(") && named.lookup.is_some());
    }

    #[test]
    fn what_the_chain_says_itself_comes_first() {
        let own = "profile = \"reference\"\ndeadline = \"1h\"\ncharged = \"event C(uint64 subscribeId)\"\n\
                   [chains.139.billing.reasons]\n1 = \"PLAN_INACTIVE\"\n99 = \"HOLDER_BLOCKED\"";
        let named = billing(own).unwrap();
        assert_eq!(named.charged.as_deref(), Some("event C(uint64 subscribeId)"));
        let shipped = billing("profile = \"reference\"").unwrap().reasons.len();
        assert_eq!(
            (named.reasons["1"].as_str(), named.reasons.len()),
            ("PLAN_INACTIVE", shipped + 1)
        );
        assert_eq!(named.deadline.as_secs(), 3600);
    }

    #[test]
    fn a_profile_that_does_not_come_with_the_program_is_a_fault() {
        let faults = billing("profile = \"refrence\"").unwrap_err();
        let named = "chains.139.billing.profile: is no profile that comes with the program (did you \
                     mean \"reference\"?); expected \"reference\"";
        assert_eq!(faults, named, "nothing is untrue of the keys that were not asked for");
    }
}
