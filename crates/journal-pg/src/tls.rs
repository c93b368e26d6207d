//! The connection to a server: plain if nothing leaves the machine, and otherwise by TLS alone, with a server
//! certificate that an authority proves and that holds the requested name.

use journal::sql::{SqlError, SqlResult};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls;

/// The same server, reached safely, and what that is done with. `authority` is who signs its certificate, in
/// PEM; without one it is whoever this machine trusts.
pub(crate) fn secured(
    server: &Config,
    authority: Option<&Path>,
) -> SqlResult<(Config, MakeRustlsConnect)> {
    let mut server = server.clone();
    let asked = server.get_ssl_mode();
    let by_tls = match (stays_here(&server), asked) {
        (true, SslMode::Disable | SslMode::Prefer) => false,
        (false, SslMode::Disable) => {
            return Err(SqlError::foreign(
                "sslmode=disable: over a network the journal is written by TLS alone; leave it out, or use \
                 the server's own socket",
            ));
        }
        (_, _) => true,
    };
    server.ssl_mode(if by_tls { SslMode::Require } else { SslMode::Disable });
    let roots = if by_tls { roots(authority)? } else { RootCertStore::empty() };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(SqlError::foreign)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((server, MakeRustlsConnect::new(client)))
}

/// Returns true if everything sent to the server stays on this machine.
fn stays_here(server: &Config) -> bool {
    let addresses = server.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().all(IpAddr::is_loopback);
    }
    server.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
    })
}

fn roots(authority: Option<&Path>) -> SqlResult<RootCertStore> {
    let certificates: Vec<CertificateDer<'static>> = match authority {
        None => rustls_native_certs::load_native_certs().certs,
        Some(path) => {
            let unread = |why: &dyn std::fmt::Display| {
                let path = path.display();
                SqlError::foreign(format!("the authority of the server, {path}: {why}"))
            };
            let text = std::fs::read(path).map_err(|why| unread(&why))?;
            let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
            all.map_err(|why| unread(&why))?
        }
    };
    let mut roots = RootCertStore::empty();
    let (known, _) = roots.add_parsable_certificates(certificates);
    if known == 0 {
        return Err(SqlError::foreign(
            "no authority is known that the certificate of the server could be proven by",
        ));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(server: &str) -> Result<SslMode, String> {
        let server = secured(&server.parse().unwrap(), None);
        server.map(|(server, _)| server.get_ssl_mode()).map_err(|why| why.to_string())
    }

    #[test]
    fn what_leaves_the_machine_goes_by_tls_or_not_at_all() {
        for here in ["host=/run/postgresql", "host=localhost", "host=127.0.0.1", "host=::1"] {
            assert_eq!(mode(here), Ok(SslMode::Disable), "{here}");
            assert_eq!(mode(&format!("{here} sslmode=require")), Ok(SslMode::Require), "{here}");
        }
        let away = ["host=db.example", "host=10.0.0.5", "host=localhost,db.example"];
        for away in away.into_iter().chain(["host=localhost hostaddr=10.0.0.5"]) {
            for asked in ["", " sslmode=prefer", " sslmode=require"] {
                assert_eq!(mode(&format!("{away}{asked}")), Ok(SslMode::Require), "{away}{asked}");
            }
            let refused = mode(&format!("{away} sslmode=disable")).unwrap_err();
            assert!(refused.contains("by TLS alone"), "{refused}");
        }
    }
}
