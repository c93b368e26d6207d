//! A file is one page on one subject and says on which; a function is seen at a glance.

use super::none;
use super::rust::parse;
use super::tree::{everything, shown, text};
use proc_macro2::Span;
use syn::visit::{self, Visit};

/// Lines of a file.
const LONGEST: usize = 400;

/// Lines of code in a function's body: neither comments nor empty ones.
const LONGEST_FUNCTION: usize = 60;

#[test]
fn a_file_is_one_page_and_says_on_what() {
    let mut faults = vec![];
    for path in everything() {
        let text = text(&path);
        let lines = text.lines().count();
        if lines > LONGEST {
            faults.push(format!("{}: {lines} lines, {LONGEST} are allowed", shown(&path)));
        }
        // `tests.rs` belongs to the file that it tests; a crate's first words are its README.
        let opens = text.starts_with("//!") || text.starts_with("#![doc = include_str!(");
        if !opens && !path.ends_with("tests.rs") {
            faults.push(format!("{}: does not open with //!", shown(&path)));
        }
    }
    none(&faults);
}

#[test]
fn a_function_is_seen_at_a_glance() {
    let mut faults = vec![];
    for path in everything() {
        let text = text(&path);
        let mut functions = Functions { lines: text.lines().collect(), ..Functions::default() };
        functions.visit_file(&parse(&text).unwrap());
        let long = functions.found.into_iter().filter(|(_, lines)| *lines > LONGEST_FUNCTION);
        faults.extend(
            long.map(|(name, lines)| format!("{}: {name} has {lines} lines", shown(&path))),
        );
    }
    none(&faults);
}

/// The functions of a file, and how many lines of code the body of each has.
#[derive(Default)]
struct Functions<'t> {
    lines: Vec<&'t str>,
    found: Vec<(String, usize)>,
}

impl Functions<'_> {
    fn add(&mut self, name: &syn::Ident, body: &syn::Block) {
        let line = |span: Span| span.start().line;
        let (open, close) = (body.brace_token.span.open(), body.brace_token.span.close());
        let inside = self.lines.get(line(open)..line(close).saturating_sub(1)).unwrap_or_default();
        let code = |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        self.found.push((name.to_string(), inside.iter().filter(code).count()));
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig.ident, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
}

#[test]
fn lines_are_counted() {
    let text = "fn a() {\n1;\n\n// why\n2;\n}\nimpl X { fn b() {} }";
    let mut functions = Functions { lines: text.lines().collect(), ..Functions::default() };
    functions.visit_file(&parse(text).unwrap());
    assert_eq!(functions.found, [("a".to_owned(), 2), ("b".to_owned(), 0)]);
}
