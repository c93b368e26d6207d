//! The images that others make are named by what is in them, or by a tag, and then all of them.

use super::none;
use super::tree::{root, text};

/// Where such images are named.
const FILES: [&str; 3] = ["Dockerfile", "operate/compose.yml", "operate/kubernetes/signer.yml"];

/// What is built from this tree.
const OURS: &str = "merchant-signer";

#[test]
fn no_image_is_named_by_nothing_and_once_one_is_pinned_all_are() {
    let texts: Vec<String> = FILES.iter().map(|file| text(&root().join(file))).collect();
    let named: Vec<&str> = texts.iter().flat_map(|text| text.lines()).filter_map(image).collect();
    assert!(named.len() > 4, "{named:?}");
    let loose = |name: &&&str| !name.contains(':') && **name != OURS || name.ends_with(":latest");
    let faults: Vec<String> =
        named.iter().filter(loose).map(|name| format!("{name}: which one?")).collect();
    none(&faults);
    let of_others: Vec<&&str> = named.iter().filter(|name| !name.starts_with(OURS)).collect();
    let is_pinned = |name: &str| {
        let digest = name.split_once("@sha256:").map(|(_, digest)| digest);
        digest.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let (pinned, by_tag): (Vec<&str>, Vec<&str>) =
        of_others.into_iter().partition(|name| is_pinned(name));
    assert!(
        pinned.is_empty() || by_tag.is_empty(),
        "pinned: {pinned:?}, by a tag alone: {by_tag:?}; run operate/pin-images"
    );
}

fn image(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches("- ");
    let name = line.strip_prefix("FROM ").or_else(|| line.strip_prefix("image: "))?;
    name.split_whitespace().next()
}
