//! The clients of other languages, the packages and the Helm chart have the Signer's version: it says which one
//! somebody has.

use super::none;
use super::tree::{root, text};

/// Where it stands, and behind what.
const PLACES: [(&str, &str); 12] = [
    ("clients/node/merchant.mjs", "export const VERSION = '"),
    ("clients/node/package.json", "\"version\": \""),
    ("clients/python/merchant/__init__.py", "__version__ = \""),
    ("clients/python/pyproject.toml", "\nversion = \""),
    ("clients/php/merchant.php", "const VERSION = '"),
    ("clients/php/composer.json", "\"version\": \""),
    ("clients/java/src/merchant/Peer.java", "VERSION = \""),
    ("clients/java/pom.xml", "<version>"),
    ("clients/packages/npm/package.json", "\"version\": \""),
    ("clients/packages/pypi/merchant_sandbox/__init__.py", "__version__ = \""),
    ("operate/helm/merchant-signer/Chart.yaml", "\nversion: "),
    ("operate/helm/merchant-signer/Chart.yaml", "\nappVersion: "),
];

#[test]
fn every_client_and_the_chart_have_the_version_of_the_signer() {
    let version = env!("CARGO_PKG_VERSION");
    let ends = ['\'', '"', '<', '\n'];
    let faults = PLACES.iter().filter_map(|(path, before)| {
        let source = text(&root().join(path));
        let found = source.split_once(before).map_or("none", |(_, rest)| rest);
        let is_it = found.strip_prefix(version).is_some_and(|rest| rest.starts_with(ends));
        (!is_it).then(|| format!("{path}: {found:.20} instead of {version}"))
    });
    none(&faults.collect::<Vec<_>>());
}
