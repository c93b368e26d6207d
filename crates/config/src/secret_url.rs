//! The address of a node. Paths, queries and user names of such URLs carry API keys, so nothing
//! but scheme, host and port is ever shown.

use std::fmt;
use std::net::IpAddr;

use url::Url;

/// The http or https URL of a node. Prints without user name, password, path and query.
#[derive(Clone, PartialEq, Eq)]
pub struct RpcUrl(Url);

/// The text is not an http or https URL. Says nothing about the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an http or https URL")]
pub struct NotAnRpcUrl;

impl RpcUrl {
    /// Reads a URL. It must be http or https and name a host.
    pub fn parse(text: &str) -> Result<Self, NotAnRpcUrl> {
        let url = Url::parse(text).map_err(|_| NotAnRpcUrl)?;
        let usable = matches!(url.scheme(), "http" | "https") && url.has_host();
        usable.then_some(Self(url)).ok_or(NotAnRpcUrl)
    }

    /// The host, without the port: what a node is called.
    pub fn host(&self) -> String {
        self.0.host_str().unwrap_or_default().to_owned()
    }

    /// Returns true if nobody on the way can read what is sent to the URL: it is encrypted, or stays on this
    /// machine.
    pub fn is_private(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let here = bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        self.0.scheme() == "https" || host == "localhost" || here
    }

    /// The whole URL with everything secret in it. Only for the chain adapter, which connects.
    pub fn expose(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for RpcUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        self.0.port().map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Debug for RpcUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RpcUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_place_is_shown() {
        let secret = "https://user:hunter2@rpc.example:8443/v3/APIKEY?token=TOKEN#frag";
        let url = RpcUrl::parse(secret).unwrap();
        assert_eq!(url.to_string(), "https://rpc.example:8443");
        assert_eq!(format!("{url:?}"), "RpcUrl(https://rpc.example:8443)");
        assert_eq!(url.expose(), secret);
        assert_eq!(RpcUrl::parse("http://[::1]:8545").unwrap().to_string(), "http://[::1]:8545");
    }

    #[test]
    fn other_schemes_are_refused_without_a_word_about_them() {
        for text in ["", "ws://node", "file:///etc/passwd", "node:8545", "http://", "APIKEY"] {
            assert_eq!(RpcUrl::parse(text), Err(NotAnRpcUrl), "{text}");
        }
        assert_eq!(NotAnRpcUrl.to_string(), "not an http or https URL");
    }

    #[test]
    fn what_is_encrypted_or_stays_here_is_private() {
        let private = |url: &str| RpcUrl::parse(url).unwrap().is_private();
        for url in ["https://a.example", "http://127.0.0.1:9", "http://[::1]/x", "http://localhost"]
        {
            assert!(private(url), "{url}");
        }
        for url in
            ["http://a.example", "http://10.0.0.1", "http://localhost.example", "http://[::2]"]
        {
            assert!(!private(url), "{url}");
        }
    }
}
