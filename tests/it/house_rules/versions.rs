//! The clients of other languages are copied by hand, and the Helm chart is packed beside the Signer: the version of
//! each is the Signer's.

use super::none;
use super::tree::{root, text};

/// Where it stands, and behind what.
const PLACES: [(&str, &str); 8] = [
    ("clients/node/merchant.mjs", "export const VERSION = '"),
    ("clients/node/package.json", "\"version\": \""),
    ("clients/python/merchant.py", "__version__ = \""),
    ("clients/python/pyproject.toml", "\nversion = \""),
    ("clients/php/merchant.php", "const VERSION = '"),
    ("clients/php/composer.json", "\"version\": \""),
    ("operate/helm/merchant-signer/Chart.yaml", "\nversion: "),
    ("operate/helm/merchant-signer/Chart.yaml", "\nappVersion: "),
];

#[test]
fn every_client_and_the_chart_have_the_version_of_the_signer() {
    let version = env!("CARGO_PKG_VERSION");
    let faults = PLACES.iter().filter_map(|(path, before)| {
        let source = text(&root().join(path));
        let found = source.split_once(before).map_or("none", |(_, rest)| rest);
        let is_it =
            found.strip_prefix(version).is_some_and(|rest| rest.starts_with(['\'', '"', '\n']));
        (!is_it).then(|| format!("{path}: {found:.20} instead of {version}"))
    });
    none(&faults.collect::<Vec<_>>());
}
