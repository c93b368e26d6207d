//! `[journal]`, as far as Signers on one journal reach each other: one that stands by passes on to the one that
//! serves what callers ask it.

use super::faults::Reported;
use super::http::HttpConfig;
use super::kinds::path;
use super::reader::TableReader;
use reqwest::{Certificate, Url};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// What the URL of a peer must look like.
const EXPECTED: &str = "the https URL that this Signer listens at, without path, query and user, such as \
    \"https://10.0.0.1:9980\"; http only in a private network";

/// The Signers on one journal, and where each listens.
#[derive(Debug, Clone)]
pub struct Peers {
    /// By the name of the instance: scheme, host and port, with no slash at the end.
    pub urls: BTreeMap<String, String>,
    /// Who signs the certificates of those URLs; none for whoever this machine trusts.
    pub authorities: Option<Vec<Certificate>>,
}

impl Peers {
    /// Those that are named; none where nothing is passed on. `instance` is what this Signer is called, where that
    /// is stated.
    pub(super) fn read(
        reader: &mut TableReader<'_>,
        instance: Option<&str>,
    ) -> Result<Option<Self>, Reported> {
        let urls = reader.words("peers", |_, text| origin(text).map(drop));
        let authorities = authorities(reader);
        let (urls, authorities) = (urls?, authorities?);
        if urls.is_empty() {
            let needless = || reader.fault("peers_authority_file", "goes with journal.peers alone");
            return authorities.map_or(Ok(None), |_| Err(needless()));
        }
        if instance.is_some_and(|name| !urls.contains_key(name)) {
            let known: Vec<&str> = urls.keys().map(String::as_str).collect();
            let problem = format!(
                "is not among journal.peers ({}): the others could pass nothing on to it",
                known.join(", ")
            );
            return Err(reader.fault("instance", problem));
        }
        let read = |(name, text): (String, String)| Some((name, origin(&text).ok()?));
        Ok(Some(Self { urls: urls.into_iter().filter_map(read).collect(), authorities }))
    }

    /// Nobody gets in by way of another Signer who would not get in by himself.
    pub(super) fn check_doors(root: &TableReader<'_>, unsigned: bool, http: &HttpConfig) {
        if unsigned {
            let problem = "does not go with allow_unauthenticated: what others ask this machine would look like \
                           what a program of the one that serves asks; describe a caller instead";
            root.fault_at("journal.peers", problem);
        }
        if http.tls.as_ref().is_some_and(|tls| tls.wants_certificates()) {
            let problem = "does not go with http.tls.client_ca_file: a certificate proves its caller to whoever \
                           shakes hands with it and to nobody behind, so nothing can be passed on; have callers \
                           find the one that serves by /health/ready";
            root.fault_at("journal.peers", problem);
        }
    }
}

/// Scheme, host and port of a URL that has nothing else.
fn origin(text: &str) -> Result<String, String> {
    let wrong = |why: &str| format!("{why}; expected {EXPECTED}");
    let url = Url::parse(text).map_err(|_| wrong("is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("is no http or https URL"));
    }
    let origin = url.origin().ascii_serialization();
    if url.as_str() != format!("{origin}/") {
        return Err(wrong("says more than scheme, host and port"));
    }
    if url.scheme() == "http" && is_public(&url) {
        return Err(wrong(
            "is http to a public address: whoever is on the way could read and withhold",
        ));
    }
    Ok(origin)
}

/// Whether its host is an address that anybody may have. What a name stands for is not known here.
fn is_public(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let shared = |ip: Ipv4Addr| ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
    match bare.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => {
            !(ip.is_loopback() || ip.is_private() || ip.is_link_local() || shared(ip))
        }
        Ok(IpAddr::V6(ip)) => {
            !(ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local())
        }
        Err(_) => false,
    }
}

fn authorities(reader: &mut TableReader<'_>) -> Result<Option<Vec<Certificate>>, Reported> {
    let key = "peers_authority_file";
    let file = path("the path of the certificate of an authority, in PEM");
    let Some(file): Option<PathBuf> = reader.optional(key, &file)? else { return Ok(None) };
    let unread = |why: &dyn Display| reader.fault(key, format!("{}: {why}", file.display()));
    let text = std::fs::read(&file).map_err(|why| unread(&why))?;
    let found = Certificate::from_pem_bundle(&text).map_err(|why| unread(&why))?;
    if found.is_empty() {
        return Err(unread(&"holds no certificate in PEM"));
    }
    Ok(Some(found))
}
