//! The address at which requests are received, and the limits on them.

use super::faults::Reported;
use super::kinds::{flag, memory, path, socket_address, time, whole};
use super::reader::TableReader;
use super::{millis, seconds};
use door::ConnectionPolicy;
use host::clock::Clock;
use host::tls::{Tls, TlsFile, TlsFiles};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The address at which requests are received, and the limits on them.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The longest body that is read, in bytes: 1 KiB to 64 MiB.
    pub body_limit_bytes: usize,
    /// Most entries that one request may carry: 1 to 10000.
    pub max_entries: usize,
    /// Longest time until a request is answered: 1 s to 2 min.
    pub request_deadline: Duration,
    /// Longest time for a client to send its headers: 100 ms to 1 min.
    pub header_timeout: Duration,
    /// Longest time for a body to arrive: 100 ms to 1 min.
    pub body_timeout: Duration,
    /// Longest time for which a client may read nothing of its answer: 100 ms to 1 min.
    pub write_timeout: Duration,
    /// After how long the next answer is the last on its connection: 1 s to 24 h.
    pub connection_lifetime: Duration,
    /// Most connections open at one time: 16 to 65536. For a further one, an idle connection is closed, of the
    /// client that has the most.
    pub max_connections: usize,
    /// Most connections from one address: 1 to 65536.
    pub max_connections_per_address: usize,
    /// Address for health and metrics; none if `listen` serves them too.
    pub health_listen: Option<SocketAddr>,
    /// True if the page for operators is served, beside health and metrics.
    pub page: bool,
    /// TLS of the port at `listen`; none if that port is not encrypted.
    pub tls: Option<Arc<Tls>>,
    /// Longest time for which a stopping process waits for the work it has begun: 1 s to 10 min.
    pub shutdown_grace: Duration,
    /// Most billing requests of one caller at work at one time: 1 to 65536. Others are turned away.
    pub max_concurrent_requests: usize,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Most connections that the port of health takes.
const OF_HEALTH: usize = 32;

impl HttpConfig {
    /// Returns the rules for connections on the callers' port: as configured, or as the descriptors of the process
    /// allow.
    pub fn connection_policy(&self) -> ConnectionPolicy {
        let connection_policy = ConnectionPolicy {
            connections: self.max_connections,
            of_one: self.max_connections_per_address,
            header_timeout: self.header_timeout,
            write_timeout: self.write_timeout,
            lifetime: self.connection_lifetime,
        };
        connection_policy.within_descriptors()
    }

    /// The same of a port for machines that look after this one.
    pub fn health_connection_policy(&self) -> ConnectionPolicy {
        let (header_timeout, write_timeout) = (self.header_timeout, self.write_timeout);
        let lifetime = self.connection_lifetime;
        ConnectionPolicy {
            connections: OF_HEALTH,
            of_one: OF_HEALTH,
            header_timeout,
            write_timeout,
            lifetime,
        }
    }

    /// Returns the warning for requests received in the clear; none on a loopback address or behind TLS.
    pub fn in_the_clear(&self) -> Option<&'static str> {
        let at_home = self.listen.ip().to_canonical().is_loopback();
        (!at_home && self.tls.is_none()).then_some(
            "other machines are heard in the clear: whoever is on the way can read and withhold \
             requests; set http.tls, or put a proxy with TLS in front",
        )
    }

    pub(super) fn read(reader: &mut TableReader<'_>) -> Result<Self, Reported> {
        let listen = reader.get("listen", &socket_address());
        let body_limit_bytes = reader.get("body_limit", &memory(KIB..=64 * MIB));
        let max_entries = reader.get("max_entries", &whole(1..=10_000));
        let request_deadline = reader.get("request_deadline", &time(seconds(1)..=seconds(120)));
        let header_timeout = reader.get("header_timeout", &time(millis(100)..=seconds(60)));
        let body_timeout = reader.get("body_timeout", &time(millis(100)..=seconds(60)));
        let write_timeout = reader.get("write_timeout", &time(millis(100)..=seconds(60)));
        let connection_lifetime =
            reader.get("connection_lifetime", &time(seconds(1)..=seconds(86_400)));
        let max_connections = reader.get("max_connections", &whole(16..=65_536));
        let max_connections_per_address =
            reader.get("max_connections_per_address", &whole(1..=65_536));
        let health_listen = reader.optional("health_listen", &socket_address());
        let page = reader.get("page", &flag());
        let tls = reader.has("tls").then(|| reader.section("tls", tls)).transpose();
        let shutdown_grace = reader.get("shutdown_grace", &time(seconds(1)..=seconds(600)));
        let max_concurrent_requests = reader.get("max_concurrent_requests", &whole(1..=65_536));
        Ok(Self {
            listen: listen?,
            body_limit_bytes: body_limit_bytes?,
            max_entries: max_entries?,
            request_deadline: request_deadline?,
            header_timeout: header_timeout?,
            body_timeout: body_timeout?,
            write_timeout: write_timeout?,
            connection_lifetime: connection_lifetime?,
            max_connections: max_connections?,
            max_connections_per_address: max_connections_per_address?,
            health_listen: health_listen?,
            page: page?,
            tls: tls?,
            shutdown_grace: shutdown_grace?,
            max_concurrent_requests: max_concurrent_requests?,
        })
    }
}

/// `[http.tls]`: three files, of which each says for itself what is wrong with it.
fn tls(reader: &mut TableReader<'_>) -> Result<Arc<Tls>, Reported> {
    let file = path("the path of a file in PEM");
    let certificate = reader.get(TlsFile::Certificate.config_key(), &file);
    let key = reader.get(TlsFile::Key.config_key(), &file);
    let client_ca = reader.optional(TlsFile::ClientCa.config_key(), &file);
    let identity = reader.optional("identity_file", &file);
    let files = TlsFiles {
        certificate: certificate?,
        key: key?,
        client_ca: client_ca?,
        identity: identity?,
    };
    let now = Clock::MACHINE.unix_ms().div_euclid(1000);
    Tls::read(files, now).map_err(|faults| {
        let told =
            faults.into_iter().map(|fault| reader.fault(fault.of.config_key(), fault.problem));
        // There is at least one: what could be read would have been no error.
        told.reduce(|_, later| later)
            .unwrap_or_else(|| reader.fault(TlsFile::Certificate.config_key(), "is not usable"))
    })
}
