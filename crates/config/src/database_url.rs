//! The address of a database. Such a URL carries a password, so nothing but hosts, ports and the name of the
//! database is ever shown.

use super::secret;
use std::fmt;
use std::path::Path;

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
        let text = secret::of_named_file(path)?;
        Self::parse(&text).map_err(|why| unusable(&why))
    }

    /// All of it. Only for the journal, which connects.
    #[cfg(feature = "postgres")]
    pub fn expose(&self) -> &tokio_postgres::Config {
        &self.server
    }

    /// Returns true if the URL contains a password.
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
