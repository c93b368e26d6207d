//! Files that stand beside each other form no circle: each can be read with what it builds on.
//!
//! A file knows another where it names the module, or a name that the common parent brings in from it.

#![expect(clippy::wildcard_enum_match_arm, reason = "what syn knows is not ours, and grows")]

use super::layers::module_of;
use super::left;
use super::rust::{Named, leaves, paths, without_tests};
use super::tree::{CRATES, product, root};
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;

type Module = Vec<String>;

/// The files of the program as modules: what each names, and which names it brings in from where.
struct Program {
    files: BTreeMap<Module, syn::File>,
}

impl Program {
    fn read() -> Self {
        let hidden = |module: &Module| module.iter().any(|part| part == "tests");
        let files = product().into_iter().map(|path| (module_of(&path), path));
        let files = files.filter(|(module, _)| !hidden(module));
        Self { files: files.map(|(module, path)| (module, without_tests(&path))).collect() }
    }

    /// From the root of the crate, what a path in `module` names.
    fn absolute(module: &Module, path: &Named) -> Option<Module> {
        match path.first().map(String::as_str) {
            Some("crate") => {
                let inside = module.first().filter(|name| CRATES.contains(&name.as_str()));
                Some([inside.cloned().as_slice(), path.get(1..)?].concat())
            }
            Some("self") => Some([module, path.get(1..)?].concat()),
            Some("super") => {
                let climbed = path.iter().take_while(|part| *part == "super").count();
                let above = module.get(..module.len().checked_sub(climbed)?)?;
                Some([above, path.get(climbed..)?].concat())
            }
            _ => None,
        }
    }

    /// The file in which a name is defined, through what files bring in from others.
    fn home(&self, path: &Module, depth: u8) -> Option<Module> {
        let inside = (1..=path.len())
            .rev()
            .find(|at| path.get(..*at).is_some_and(|m| self.files.contains_key(m)))?;
        let (file, rest) = path.split_at(inside);
        let Some(name) = rest.first().filter(|_| depth > 0) else { return Some(file.to_vec()) };
        let brought = self.brought_in(&file.to_vec());
        match brought.get(name) {
            Some(from) => {
                self.home(&[from.as_slice(), rest.get(1..)?].concat(), depth.saturating_sub(1))
            }
            None => Some(file.to_vec()),
        }
    }

    /// The names that a file brings in from modules of the crate.
    fn brought_in(&self, module: &Module) -> BTreeMap<String, Module> {
        let uses =
            self.files.get(module).into_iter().flat_map(|file| &file.items).filter_map(|item| {
                match item {
                    Item::Use(item) => Some(&item.tree),
                    _ => None,
                }
            });
        let mut found = BTreeMap::new();
        for (path, name) in uses.flat_map(leaves) {
            let child = path.first().is_some_and(|first| {
                self.files.contains_key(
                    [module.as_slice(), std::slice::from_ref(first)].concat().as_slice(),
                )
            });
            let from = if child {
                Some([module.as_slice(), &path].concat())
            } else {
                Self::absolute(module, &path)
            };
            found.extend(from.map(|from| (name, from)));
        }
        found
    }

    /// Which files beside it a file knows, itself or through the files below it.
    fn neighbours(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut graph: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, file) in &self.files {
            for path in paths(file) {
                let named = Self::absolute(module, &path).and_then(|path| self.home(&path, 8));
                let Some(home) = named.filter(|home| home != module) else { continue };
                let common =
                    module.iter().zip(&home).take_while(|(one, other)| one == other).count();
                let step = common.saturating_add(1);
                let (Some(from), Some(to)) = (module.get(..step), home.get(..step)) else {
                    continue;
                };
                if common > 0 {
                    graph.entry(from.to_vec()).or_default().insert(to.to_vec());
                }
            }
        }
        graph
    }
}

/// The modules that can be reached from each one.
fn reachable(graph: &BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut left: Vec<&Module> = graph.get(from).into_iter().flatten().collect();
    while let Some(next) = left.pop() {
        if seen.insert(next.clone()) {
            left.extend(graph.get(next).into_iter().flatten());
        }
    }
    seen
}

#[test]
fn files_beside_each_other_form_no_circle() {
    let graph = Program::read().neighbours();
    assert!(graph.len() > 20, "a rule that reads nothing finds no fault");
    let mut circles = BTreeSet::new();
    for module in graph.keys() {
        let there = reachable(&graph, module);
        if there.contains(module) {
            let back = there.into_iter().filter(|other| reachable(&graph, other).contains(module));
            let files = back.map(|module| module.join("::")).collect::<Vec<_>>().join(" - ");
            let of_a_crate = module.first().filter(|first| CRATES.contains(&first.as_str()));
            let home = of_a_crate.map_or("src".into(), |name| format!("crates/{name}"));
            circles.insert((root().join(home), files));
        }
    }
    left::compare("circle", &circles.into_iter().collect::<Vec<_>>());
}
