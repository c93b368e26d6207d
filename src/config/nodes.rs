//! The nodes of a chain, as a list of URLs.

use super::faults::Reported;
use super::kinds::rpc_url;
use super::reader::TableReader;
use super::secret_url::RpcUrl;
use super::{ChainConfig, FamilyConfig};
use std::collections::BTreeSet;

/// The URLs of nodes, none of them twice: a node that agrees with itself proves nothing.
pub(super) fn rpc_urls(
    reader: &mut TableReader<'_>,
    key: &'static str,
    taken: &[RpcUrl],
) -> Result<Vec<RpcUrl>, Reported> {
    let urls = reader.several(key, &rpc_url())?;
    let mut outcome = Ok(());
    for (place, url) in urls.iter().enumerate() {
        if taken.iter().chain(urls.iter().take(place)).any(|other| other == url) {
            let path = format!("{}.{key}[{place}]", reader.path());
            outcome = Err(reader.fault_at(&path, "is a node that is named already; name it once"));
        }
    }
    outcome.map(|()| urls)
}

impl ChainConfig {
    /// Where nodes are that are asked over http on another machine.
    pub fn nodes_in_the_clear(&self) -> BTreeSet<String> {
        let all: Vec<&RpcUrl> = match &self.family {
            FamilyConfig::Evm(evm) => evm.rpc.iter().chain(&evm.send_only).collect(),
            FamilyConfig::Tvm(tvm) => {
                let nodes = tvm.nodes.iter();
                nodes
                    .flat_map(|node| [&node.full, &node.solidity].into_iter().chain(&node.jsonrpc))
                    .collect()
            }
        };
        all.into_iter().filter(|url| !url.is_private()).map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn nodes_that_are_asked_over_http_on_another_machine_are_told() {
        let local = include_str!("tests/local.toml");
        let with = |rpc: &str| {
            let text = local.replace("\"http://127.0.0.1:8545\"", rpc);
            let told = Config::from_toml(&text, &[]).unwrap().chains[0].nodes_in_the_clear();
            told.into_iter().collect::<Vec<_>>()
        };
        assert!(with("[\"http://127.0.0.1:1\", \"https://a.example\"]").is_empty());
        assert_eq!(with("[\"http://a.example/v3/hunter2\"]"), ["http://a.example"]);
    }
}
