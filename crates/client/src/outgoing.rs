//! The HTTP client beneath, and the causes of its failures.

use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use std::net::IpAddr;

/// Follows no redirect, and asks no proxy of the environment the way to this very machine.
pub fn client_for(url: &str) -> ClientBuilder {
    let client = reqwest::Client::builder().redirect(Policy::none());
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    if is_here { client.no_proxy() } else { client }
}

/// The innermost cause: those around it say which library noticed it, and the address once more.
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() { "no answer in time".to_owned() } else { cause.to_string() }
}
