//! The nodes of a chain, as a list of URLs.

use super::faults::Reported;
use super::kinds::rpc_url;
use super::reader::TableReader;
use super::secret_url::RpcUrl;

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
