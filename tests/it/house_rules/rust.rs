//! Rust, as far as the rules need it: parsed by `syn`.

#![expect(clippy::wildcard_enum_match_arm, reason = "what syn knows is not ours, and grows")]

use super::tree::text;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A path that code names, as it is written: `["crate", "billing", "Item"]`.
pub(super) type Named = Vec<String>;

/// The file, with what only tests have taken out.
pub(super) fn without_tests(path: &Path) -> syn::File {
    parse(&text(path)).map_or_else(|error| panic!("{}: {error}", path.display()), pruned)
}

pub(super) fn parse(source: &str) -> syn::Result<syn::File> {
    syn::parse_file(source)
}

pub(super) fn pruned(mut file: syn::File) -> syn::File {
    prune(&mut file.items);
    file
}

fn prune(items: &mut Vec<Item>) {
    items.retain(|item| !attributes(item).iter().any(only_in_tests));
    for item in items {
        if let Item::Mod(module) = item
            && let Some((_, inner)) = &mut module.content
        {
            prune(inner);
        }
    }
}

fn only_in_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The types that a file defines and that other crates may know.
pub(super) fn types(file: &syn::File) -> Vec<String> {
    let mut found = vec![];
    collect_types(&file.items, &mut found);
    found
}

fn collect_types(items: &[Item], found: &mut Vec<String>) {
    for item in items {
        let mut add = |visibility: &Visibility, name: &syn::Ident| {
            found.extend(matches!(visibility, Visibility::Public(_)).then(|| name.to_string()));
        };
        match item {
            Item::Struct(item) => add(&item.vis, &item.ident),
            Item::Enum(item) => add(&item.vis, &item.ident),
            Item::Trait(item) => add(&item.vis, &item.ident),
            Item::Type(item) => add(&item.vis, &item.ident),
            Item::Mod(module) => {
                module.content.iter().for_each(|(_, items)| collect_types(items, found));
            }
            _ => {}
        }
    }
}

/// Every path that a file names, in `use` and elsewhere. What macros are given is read as far as it is
/// made of plain names.
pub(super) fn paths(file: &syn::File) -> BTreeSet<Named> {
    let mut paths = Paths::default();
    paths.visit_file(file);
    paths.0
}

#[derive(Default)]
struct Paths(BTreeSet<Named>);

impl<'a> Visit<'a> for Paths {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.0.extend(leaves(&item.tree).into_iter().map(|(path, _)| path));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.insert(path.segments.iter().map(|part| part.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

impl Paths {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = Named::new();
        let mut colons = 0_u8;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && colons < 2 => {
                    colons = colons.saturating_add(1);
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.0.insert(std::mem::take(&mut path));
            colons = 0;
        }
        self.0.insert(path);
    }
}

/// What a `use` brings in: the whole path, and the name that it has from then on.
pub(super) fn leaves(tree: &UseTree) -> Vec<(Named, String)> {
    match tree {
        UseTree::Path(path) => {
            let mut found = leaves(&path.tree);
            for (inner, _) in &mut found {
                inner.insert(0, path.ident.to_string());
            }
            found
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], name.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// Every text in a file, those in macros and attributes included, as the program has them.
pub(super) fn texts(source: &str) -> Vec<String> {
    let tokens: TokenStream = source.parse().unwrap_or_default();
    let mut found = vec![];
    collect_texts(tokens, &mut found);
    found
}

fn collect_texts(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_texts(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                found.extend(text.ok().map(|text| text.value()));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[test]
fn what_is_said_in_comments_and_texts_binds_nobody() {
    let source = r##"
        use crate::{chain::{evm, tron}, journal};
        // use crate::comment;
        fn f<'a>(x: &'a str) -> char { let _ = (r#"crate::raw"#, "crate::\"text", '"'); '{' }
        fn g() { crate::keys::sign(); assert!(super::sibling::y(), "{}", crate::node::z); }
        #[cfg(test)]
        mod tests { use crate::config; fn h() { if true { } } }
        fn after() { crate::auth::check() }
        #[cfg(test)]
        use crate::clock;
    "##;
    let named = paths(&pruned(parse(source).unwrap()));
    let tops: BTreeSet<&str> = named
        .iter()
        .filter(|path| path.first().is_some_and(|first| first == "crate"))
        .filter_map(|path| path.get(1).map(String::as_str))
        .collect();
    assert_eq!(tops, ["auth", "chain", "journal", "keys", "node"].into());
    assert!(named.contains(["super", "sibling", "y"].map(str::to_owned).as_slice()));
    assert!(texts(source).iter().any(|text| text == "crate::raw"));
}
