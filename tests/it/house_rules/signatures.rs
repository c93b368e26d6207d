//! A parameter is one thing with a name, a bool is not a meaning, and a nested outcome is none.

#![expect(clippy::wildcard_enum_match_arm, reason = "what syn knows is not ours, and grows")]

use super::left;
use super::rust::parse;
use super::tree::{everything, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, FnArg, GenericArgument, Lit, Pat, PathArguments, Token, Type, Visibility};

/// The reach of a function: other crates may call it, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exported {
    Yes,
    No,
}

impl Exported {
    fn of(visibility: &Visibility) -> Self {
        if matches!(visibility, Visibility::Public(_)) { Self::Yes } else { Self::No }
    }
}

/// A function that takes a bool, or a call that gives one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flag {
    /// `name` of a function, `Type::name` of one that is called by its type, `.name` of a method.
    name: String,
    /// The number of parameters but for `self`, and the place of the bool among them.
    count: usize,
    at: usize,
}

impl Flag {
    /// Returns true for `set_x(on)`: that a bool is what is set is said by the name.
    fn is_setter(&self) -> bool {
        let name = self.name.trim_start_matches('.');
        self.count == 1 && name.split("::").last().is_some_and(|last| last.starts_with("set_"))
    }
}

/// The functions of one file and what they are called with.
#[derive(Default)]
struct Signatures {
    /// The type or trait whose functions are being read.
    of: Option<String>,
    /// The function that is being read.
    inside: Option<String>,
    tuples: Vec<String>,
    nested: Vec<String>,
    /// Exported functions that take a bool.
    exported: Vec<String>,
    /// Functions that take a bool.
    flags: BTreeSet<Flag>,
    /// Calls with a literal bool, each with the function that makes it.
    literals: Vec<(Flag, String)>,
}

impl Signatures {
    fn of(path: &Path) -> Self {
        let mut found = Self::default();
        found.visit_file(&parse(&text(path)).unwrap());
        found
    }

    fn full(&self, name: &syn::Ident) -> String {
        self.of.as_ref().map_or_else(|| name.to_string(), |of| format!("{of}::{name}"))
    }

    /// Reads one signature; returns the function that was being read before.
    fn enter(&mut self, signature: &syn::Signature, exported: Exported) -> Option<String> {
        let name = self.full(&signature.ident);
        let typed: Vec<_> = signature
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Typed(typed) => Some(typed),
                FnArg::Receiver(_) => None,
            })
            .collect();
        let count = typed.len();
        let is_method = signature.receiver().is_some();
        let called = if is_method { format!(".{}", signature.ident) } else { name.clone() };
        for (at, typed) in typed.into_iter().enumerate() {
            if is_tuple(&typed.pat) {
                self.tuples.push(name.clone());
            }
            let flag = Flag { name: called.clone(), count, at };
            let is_bool = matches!(&*typed.ty, Type::Path(path) if path.path.is_ident("bool"));
            if is_bool && !flag.is_setter() {
                self.flags.insert(flag);
                if exported == Exported::Yes {
                    self.exported.push(name.clone());
                }
            }
        }
        self.inside.replace(name)
    }

    fn call(&mut self, name: &str, arguments: &Punctuated<Expr, Token![,]>) {
        let count = arguments.len();
        for (at, argument) in arguments.iter().enumerate() {
            if matches!(argument, Expr::Lit(literal) if matches!(literal.lit, Lit::Bool(_))) {
                let flag = Flag { name: name.to_owned(), count, at };
                self.literals.push((flag, self.inside.clone().unwrap_or_default()));
            }
        }
    }

    /// The name that a path calls: with its type, if it names one.
    fn called(&self, path: &syn::Path) -> Option<String> {
        let mut parts = path.segments.iter().rev().map(|part| part.ident.to_string());
        let name = parts.next()?;
        let of = parts.next().filter(|of| of.starts_with(char::is_uppercase));
        let of = if of.as_deref() == Some("Self") { self.of.clone() } else { of };
        Some(of.map_or_else(|| name.clone(), |of| format!("{of}::{name}")))
    }
}

fn is_tuple(pattern: &Pat) -> bool {
    match pattern {
        Pat::Tuple(_) => true,
        Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}

/// The last part of a type's path, if it is `Result` or `Option`, and the type of its good case.
fn outcome(of: &syn::TypePath) -> Option<(String, &Type)> {
    let last = of.path.segments.last()?;
    let name = last.ident.to_string();
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let inner = arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })?;
    ["Result", "Option"].contains(&name.as_str()).then_some((name, inner))
}

impl<'a> Visit<'a> for Signatures {
    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let name = match &*item.self_ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let before = std::mem::replace(&mut self.of, name);
        visit::visit_item_impl(self, item);
        self.of = before;
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let before = self.of.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.of = before;
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        let before = self.enter(&item.sig, Exported::of(&item.vis));
        visit::visit_item_fn(self, item);
        self.inside = before;
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        let before = self.enter(&item.sig, Exported::of(&item.vis));
        visit::visit_impl_item_fn(self, item);
        self.inside = before;
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        let before = self.enter(&item.sig, Exported::No);
        visit::visit_trait_item_fn(self, item);
        self.inside = before;
    }

    fn visit_type_path(&mut self, path: &'a syn::TypePath) {
        if let Some((outer, Type::Path(inner))) = outcome(path)
            && outcome(inner).is_some_and(|(inner, _)| inner == outer)
        {
            self.nested.push(self.inside.clone().or_else(|| self.of.clone()).unwrap_or_default());
        }
        visit::visit_type_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let Expr::Path(path) = &*call.func
            && let Some(name) = self.called(&path.path)
        {
            self.call(&name, &call.args);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.call(&format!(".{}", call.method), &call.args);
        visit::visit_expr_method_call(self, call);
    }
}

fn all() -> Vec<(PathBuf, Signatures)> {
    everything().into_iter().map(|path| (path.clone(), Signatures::of(&path))).collect()
}

/// Compares with the lists what each file has of one kind.
fn compare(rule: &str, kind: impl Fn(&Signatures) -> Vec<String>) {
    let faults = all().into_iter().flat_map(|(path, found)| {
        kind(&found).into_iter().map(move |fault| (path.clone(), fault)).collect::<Vec<_>>()
    });
    left::compare(rule, &faults.collect::<Vec<_>>());
}

#[test]
fn a_parameter_is_no_tuple_that_is_taken_apart() {
    compare("tuple", |found| found.tuples.clone());
}

#[test]
fn an_outcome_holds_no_second_one() {
    compare("nested", |found| found.nested.clone());
}

#[test]
fn no_exported_function_takes_a_bool() {
    compare("exported bool", |found| found.exported.clone());
}

/// A method is known by its name, the number of its parameters and the place of the bool: one of somebody else's type
/// that agrees in all three is a false alarm.
#[test]
fn no_function_of_ours_is_called_with_true_or_false() {
    let files = all();
    let flags: BTreeSet<_> = files.iter().flat_map(|(_, found)| found.flags.clone()).collect();
    compare("literal bool", |found| {
        let ours = found.literals.iter().filter(|(flag, _)| flags.contains(flag));
        ours.map(|(flag, by)| format!("{by} calls {}", flag.name)).collect()
    });
}

#[test]
fn signatures_are_read() {
    let source = "
        impl X { pub fn a(&self, n: u8, on: bool, (b, c): (u8, u8)) -> io::Result<Result<u8, E>> {} }
        pub(crate) fn d(&(e, f): &(u8, u8), off: bool) { x.a(1, true, p); d(q, off); g(|(h, i)| 1) }
        fn set_j(on: bool) {}
        type J = Option<Option<u8>>;";
    let mut found = Signatures::default();
    found.visit_file(&parse(source).unwrap());
    assert_eq!(found.tuples, ["X::a", "d"]);
    assert_eq!(found.nested, ["X::a", ""]);
    assert_eq!(found.exported, ["X::a"]);
    let flag = |name: &str, count, at| Flag { name: name.to_owned(), count, at };
    assert_eq!(found.flags, [flag(".a", 3, 1), flag("d", 2, 1)].into());
    assert_eq!(found.literals, [(flag(".a", 3, 1), "d".to_owned())]);
}
