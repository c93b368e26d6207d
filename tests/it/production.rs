//! What goes into production, and what never does: the sandbox holds keys that everybody knows.

use std::fs;
use std::path::Path;
use std::process::Command;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Everything that the program is built from, by the names of the packages.
pub(crate) fn packages() -> Vec<String> {
    let told = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "merchant-signer", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let lines = String::from_utf8(told.stdout).unwrap();
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_program_does_not_depend_on_the_sandbox() {
    let needed = packages();
    assert!(needed.iter().any(|name| name == "tokio"), "{needed:?}");
    let strangers: Vec<_> = needed.iter().filter(|name| name.contains("sandbox")).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
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
    // What the program is made of gets there whole: its own crates, and the texts that are built in.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let told = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "merchant-signer", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(root)
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let ours = told.lines().filter_map(|line| line.split_once(root)?.1.split(')').next());
    for folder in ours {
        assert!(context.contains(&format!("!{folder}/src\n")), "{folder}/src");
    }
    let told = Command::new("grep")
        .args(["-rhoE", r#"include_str!\("(\.\./)+config/[^"]+"#, "src", "crates"])
        .current_dir(root)
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let built_in: Vec<_> = told.lines().filter_map(|line| line.rsplit("../").next()).collect();
    let of_tests = |text: &&&str| text.contains("/tests/");
    assert!(built_in.len() > 2, "{built_in:?}");
    // The build script takes the templates of networks by their folder.
    for read in ["build.rs", "config/networks"] {
        assert!(context.contains(&format!("!{read}\n")), "{read}");
    }
    for text in built_in.iter().filter(|text| !of_tests(text)) {
        let folder = text.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_there = [text, folder].iter().any(|it| context.contains(&format!("!{it}\n")));
        assert!(is_there, "{text}");
    }
}
