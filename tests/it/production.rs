//! What goes into production, and what never does: the sandbox holds keys that everybody knows.

use std::fs;
use std::path::Path;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the packages in all sections of a manifest whose title ends in `title`.
fn packages(manifest: &str, title: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = vec![];
    for line in manifest.lines() {
        if let Some(heading) = line.strip_prefix('[') {
            let heading = heading.trim_end_matches([']', ' ']);
            let (section, name) =
                heading.rsplit_once(&format!("{title}.")).unwrap_or((heading, ""));
            inside = section.ends_with(title) && !section.ends_with(&format!("dev-{title}"));
            found.extend(Some(name.to_owned()).filter(|name| !name.is_empty()));
        } else if inside && let Some((name, _)) = line.split_once('=') {
            found.push(name.trim().to_owned());
            // A dependency can go by another name.
            found.extend(line.contains("sandbox").then(|| "sandbox".to_owned()));
        }
    }
    found
}

#[test]
fn the_program_does_not_depend_on_the_sandbox() {
    let manifest = text("Cargo.toml");
    let needed = packages(&manifest, "dependencies");
    assert!(needed.iter().any(|name| name == "tokio"), "{needed:?}");
    assert!(needed.iter().all(|name| name != "sandbox"), "{needed:?}");
    let renamed =
        "[dependencies]\na = \"1\"\nb = { package = \"sandbox\" }\n[dev-dependencies]\nc = 1";
    assert_eq!(packages(renamed, "dependencies"), ["a", "b", "sandbox"]);
    let apart = "[target.'cfg(unix)'.dependencies.sandbox]\n[dev-dependencies.sandbox]\n";
    assert_eq!(packages(apart, "dependencies")[0], "sandbox");
}

#[test]
fn the_image_holds_the_program_alone() {
    let recipe = text("Dockerfile");
    let builds: Vec<_> = recipe.lines().filter(|line| line.contains("cargo build")).collect();
    assert_eq!(builds.len(), 1, "{builds:?}");
    assert!(builds[0].contains("-p merchant-signer --bin merchant-signer"), "{builds:?}");
    assert!(!recipe.contains("sandbox"));
    // Cargo wants to see every member of the workspace; more of the sandbox never gets there.
    let context = text(".dockerignore");
    let seen: Vec<_> = context.lines().filter(|line| line.contains("sandbox")).collect();
    assert_eq!(seen, ["!sandbox/Cargo.toml", "!sandbox/src/main.rs"]);
}
