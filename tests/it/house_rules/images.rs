//! The images that others make are named by what is in them, or by a tag, and then all of them.

use super::none;
use super::tree::{root, text};
use std::collections::BTreeSet;
use std::path::Path;

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

/// The crates of this workspace that a manifest depends on.
fn dependencies(manifest: &Path) -> Vec<String> {
    let text = text(manifest);
    let table = text.split_once("\n[dependencies]\n").map_or("", |(_, rest)| rest);
    let table = table.split("\n[").next().unwrap_or_default();
    let names = table.lines().filter_map(|line| Some(line.split_once(['.', ' '])?.0));
    // Two folders have a shorter name than their crate.
    let folder = |name: &str| match name {
        "signer-client" => "client".to_owned(),
        "tron-primitives" => "tron".to_owned(),
        name => name.to_owned(),
    };
    let is_ours = |name: &String| root().join("crates").join(name).join("src").is_dir();
    names.map(folder).filter(is_ours).collect()
}

/// A build of the image reads nothing that `.dockerignore` leaves out.
#[test]
fn the_image_is_built_of_every_crate_of_the_program_and_of_no_other() {
    let (mut found, mut left) = (BTreeSet::new(), dependencies(&root().join("Cargo.toml")));
    while let Some(name) = left.pop() {
        if found.insert(name.clone()) {
            left.extend(dependencies(&root().join("crates").join(&name).join("Cargo.toml")));
        }
    }
    let listed = text(&root().join(".dockerignore"));
    let listed = listed.lines().filter_map(|line| line.strip_prefix("!crates/"));
    let listed = listed.filter_map(|rest| rest.strip_suffix("/src").map(str::to_owned));
    assert_eq!(listed.collect::<BTreeSet<_>>(), found);
}
