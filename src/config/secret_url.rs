//! The address of a node, and that of a database. Paths, queries and user names of such URLs carry API keys and
//! passwords, so nothing but scheme, host and port, and the name of a database, is ever shown.

use super::secret;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use reqwest::Url;

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

    /// Whether nobody on the way can read what is sent there: it is encrypted, or stays on this machine.
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

/// A database on a PostgreSQL server, and the role that it is used as. Prints without role, password and
/// options.
#[derive(Clone)]
pub struct DatabaseUrl {
    #[cfg(feature = "postgres")]
    server: Box<tokio_postgres::Config>,
    shown: String,
    has_password: bool,
}

/// Why a text is no URL of a database. Says nothing about the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotADatabaseUrl {
    /// The program was built without what speaks to a server.
    #[error("needs a program that was built with the feature `postgres`, and this one was not")]
    NotBuiltIn,
    /// It is something else.
    #[error("is no URL of a database")]
    Malformed,
    /// Nobody is guessed.
    #[error("names no role")]
    NoRole,
    /// No database is guessed.
    #[error("names no database")]
    NoDatabase,
    /// No server is guessed.
    #[error("names no host")]
    NoHost,
}

impl DatabaseUrl {
    /// Reads a URL, which names role, host and database.
    #[cfg(not(feature = "postgres"))]
    pub fn parse(_: &str) -> Result<Self, NotADatabaseUrl> {
        Err(NotADatabaseUrl::NotBuiltIn)
    }

    /// Reads a URL, which names role, host and database.
    #[cfg(feature = "postgres")]
    pub fn parse(text: &str) -> Result<Self, NotADatabaseUrl> {
        use tokio_postgres::config::Host;
        if !text.starts_with("postgresql://") && !text.starts_with("postgres://") {
            return Err(NotADatabaseUrl::Malformed);
        }
        let server: tokio_postgres::Config =
            text.parse().map_err(|_| NotADatabaseUrl::Malformed)?;
        let database = server.get_dbname().ok_or(NotADatabaseUrl::NoDatabase)?;
        server.get_user().ok_or(NotADatabaseUrl::NoRole)?;
        let ports = server.get_ports();
        let hosts = server.get_hosts().iter().enumerate().map(|(place, host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(directory) => directory.display().to_string(),
            };
            let port = ports.get(place).or_else(|| ports.first());
            port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
        });
        let hosts: Vec<String> = hosts.collect();
        if hosts.is_empty() {
            return Err(NotADatabaseUrl::NoHost);
        }
        let shown = format!("postgresql://{}/{database}", hosts.join(","));
        let has_password = server.get_password().is_some();
        Ok(Self { server: Box::new(server), shown, has_password })
    }

    /// Reads the one that stands in a file, which is its owner's alone.
    pub fn in_file(path: &Path) -> Result<Self, String> {
        let unusable = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let text = secret::of_file(path).map_err(|why| unusable(&why))?;
        Self::parse(&text).map_err(|why| unusable(&why))
    }

    /// All of it. Only for the journal, which connects.
    #[cfg(feature = "postgres")]
    pub fn expose(&self) -> &tokio_postgres::Config {
        &self.server
    }

    /// Whether a password stands in it.
    pub fn has_password(&self) -> bool {
        self.has_password
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
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
