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
    urls(reader, key, taken, named_already)
}

/// The URLs of witnesses, each of a provider of its own: one that runs a node as well, or another witness, would only
/// repeat its own word.
pub(super) fn witness_urls(
    reader: &mut TableReader<'_>,
    nodes: &[RpcUrl],
) -> Result<Vec<RpcUrl>, Reported> {
    urls(reader, "witness_rpc", nodes, |url, other| {
        named_already(url, other).or_else(|| {
            let provider = url.provider();
            (other.provider() == provider)
                .then(|| format!("{provider} runs what is named already; take another operator's"))
        })
    })
}

fn named_already(url: &RpcUrl, other: &RpcUrl) -> Option<String> {
    (url == other).then(|| "is a node that is named already; name it once".to_owned())
}

/// The URLs under a key, with each fault that a URL has beside one that is taken or stands before it.
fn urls(
    reader: &mut TableReader<'_>,
    key: &'static str,
    taken: &[RpcUrl],
    problem: impl Fn(&RpcUrl, &RpcUrl) -> Option<String>,
) -> Result<Vec<RpcUrl>, Reported> {
    let urls = reader.several(key, &rpc_url())?;
    let mut outcome = Ok(());
    for (place, url) in urls.iter().enumerate() {
        let mut others = taken.iter().chain(urls.iter().take(place));
        if let Some(problem) = others.find_map(|other| problem(url, other)) {
            let path = format!("{}.{key}[{place}]", reader.path());
            outcome = Err(reader.fault_at(&path, problem));
        }
    }
    outcome.map(|()| urls)
}
