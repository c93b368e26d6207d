//! The provider of a node, as far as its URL tells. A second URL of one provider is no second opinion: both say the
//! same.

use crate::secret_url::RpcUrl;
use std::net::IpAddr;

impl RpcUrl {
    /// Returns the provider of the node at this URL: its registrable domain (`example.com`, `example.co.uk`), or its
    /// host if the URL has no such domain. Nodes on this machine itself (tunnels, own nodes) are told apart by their
    /// ports, whatever this machine is called.
    pub fn provider(&self) -> String {
        let host = self.host();
        if is_this_machine(&host) {
            return self.to_string().replacen(&host, "localhost", 1);
        }
        let domain = host.trim_end_matches('.');
        let registrable = psl::domain_str(domain).filter(|_| address(domain).is_none());
        registrable.unwrap_or(domain).to_ascii_lowercase()
    }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || address(host).is_some_and(|address| address.is_loopback())
}

/// The address that a host is, if it is no name.
fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(url: &str) -> String {
        RpcUrl::parse(url).unwrap().provider()
    }

    #[test]
    fn hosts_under_one_registrable_domain_are_one_provider() {
        assert_eq!(provider("https://mainnet.infura.io/v3/KEY"), "infura.io");
        assert_eq!(provider("https://polygon.INFURA.io./v3/KEY"), "infura.io");
        assert_eq!(provider("https://a.node.co.uk:8545"), "node.co.uk");
        assert_ne!(provider("https://a.co.uk"), provider("https://b.co.uk"));
    }

    #[test]
    fn an_address_is_one_provider_whatever_the_port_unless_it_is_this_machine() {
        assert_eq!(provider("http://10.0.0.7:8545"), "10.0.0.7");
        assert_eq!(provider("http://10.0.0.7:8090"), provider("http://10.0.0.7:8545"));
        assert_ne!(provider("http://127.0.0.1:1"), provider("http://127.0.0.1:2"));
        assert_ne!(provider("http://[::1]:1"), provider("http://[::1]:2"));
        assert_ne!(provider("http://localhost:1"), provider("http://localhost:2"));
        for name in ["http://127.0.0.1:1", "http://[::1]:1", "http://127.0.0.9:1"] {
            assert_eq!(provider(name), provider("http://localhost:1"));
        }
        assert_eq!(provider("http://geth:8545"), "geth");
    }
}
