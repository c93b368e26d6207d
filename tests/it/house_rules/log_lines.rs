//! Every line that may call an operator is explained, and every field of any line: docs/log-lines.md has those of the
//! program, and no other. So has docs/tracing.md every attribute of a span.

use super::none;
use super::rust::without_tests;
use super::tree::{door, product, root, text};
use proc_macro2::TokenTree;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};

/// Where they are explained.
const DOCUMENT: &str = "docs/log-lines.md";

/// The page that names the attributes of spans.
const TRACING: &str = "docs/tracing.md";

/// A level and a message, with an ellipsis for what is filled in.
type Line = (String, String);

#[test]
fn every_line_that_calls_an_operator_is_explained() {
    let mut lines = Lines::default();
    for path in product().iter().chain(&door()).filter(|path| !path.ends_with("tests.rs")) {
        lines.visit_file(&without_tests(path));
    }
    let documented = documented(&text(&root().join(DOCUMENT)));
    assert!(lines.0.len() > 40, "{:?}", lines.0);
    let missing = lines.0.difference(&documented).map(|line| format!("{DOCUMENT} lacks {line:?}"));
    let idle =
        documented.difference(&lines.0).map(|line| format!("{DOCUMENT}: nothing says {line:?}"));
    none(&missing.chain(idle).collect::<Vec<_>>());
}

#[test]
fn every_field_of_a_line_is_explained_once() {
    let mut fields = Fields::default();
    for path in product().iter().chain(&door()).filter(|path| !path.ends_with("tests.rs")) {
        fields.visit_file(&without_tests(path));
    }
    let document = text(&root().join(DOCUMENT));
    let rows = document.lines().filter_map(|row| row.strip_prefix("| `"));
    let named: Vec<&str> = rows
        .filter_map(|row| row.split_once(" | "))
        .flat_map(|(names, _)| names.split("`, `").map(|name| name.trim_end_matches('`')))
        .collect();
    let known: BTreeSet<&str> = named.iter().copied().collect();
    assert_eq!(known.len(), named.len(), "a field is there twice: {named:?}");
    assert!(known.len() > 40, "{named:?}");
    let used: BTreeSet<&str> = fields.lines.iter().map(String::as_str).collect();
    let missing = used.difference(&known).map(|name| format!("{DOCUMENT} lacks the field {name}"));
    let idle = known.difference(&used).map(|name| format!("{DOCUMENT}: no line has {name}"));
    none(&missing.chain(idle).collect::<Vec<_>>());
}

#[test]
fn every_attribute_of_a_span_is_named() {
    let mut fields = Fields::default();
    for path in product() {
        fields.visit_file(&without_tests(&path));
    }
    let document = text(&root().join(TRACING));
    let line = document.lines().find(|line| line.starts_with("* **Attributes**")).unwrap();
    let named: BTreeSet<String> = line.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    // OpenTelemetry's own words for a span's name, kind and status.
    fields.spans.retain(|name| !name.starts_with("otel."));
    assert_eq!(named, fields.spans);
}

/// The names of the fields of log lines and of the span that each request is in, and of the attributes of other spans.
#[derive(Default)]
struct Fields {
    lines: BTreeSet<String>,
    spans: BTreeSet<String>,
}

impl<'a> Visit<'a> for Fields {
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let name = name.unwrap_or_default();
        let tokens: Vec<TokenTree> = call.tokens.clone().into_iter().collect();
        let parts =
            tokens.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
        let is_message = |part: &&[TokenTree]| matches!(part.first(), Some(TokenTree::Literal(_)));
        match name.as_str() {
            "trace" | "debug" | "info" | "warn" | "error" => {
                self.lines.extend(parts.take_while(|part| !is_message(part)).map(named));
            }
            // The first literal is the name of the span. The log shows no span with a target.
            "info_span" => {
                let told = if is_message(&parts.clone().next().unwrap_or_default()) {
                    &mut self.lines
                } else {
                    &mut self.spans
                };
                told.extend(parts.skip_while(|part| !is_message(part)).skip(1).map(named));
            }
            _ => {}
        }
        visit::visit_macro(self, call);
    }
}

/// The name of a field: all before its value.
fn named(field: &[TokenTree]) -> String {
    let is_value = |token: &&TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == '=');
    let name = field.iter().take_while(|token| !is_value(token)).map(ToString::to_string);
    name.collect::<String>().trim_start_matches(['%', '?']).to_owned()
}

#[derive(Default)]
struct Lines(BTreeSet<Line>);

impl<'a> Visit<'a> for Lines {
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let level = name.filter(|name| name == "warn" || name == "error");
        let texts = call.tokens.clone().into_iter().filter_map(|token| match token {
            TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => None,
        });
        if let (Some(level), Some(said)) = (level, texts.last()) {
            let said = filled_in(&said.value());
            // A line that is only what is filled in says what is explained elsewhere.
            if said.chars().any(char::is_alphabetic) {
                self.0.insert((level, said));
            }
        }
        visit::visit_macro(self, call);
    }
}

/// The message with an ellipsis for each thing that is filled in.
fn filled_in(said: &str) -> String {
    let mut parts = said.split('{');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('…');
        plain.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    plain
}

/// The first two cells of the rows of its table.
fn documented(document: &str) -> BTreeSet<Line> {
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| warn |") || line.starts_with("| error |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    cells
        .filter_map(|cells| {
            let level = cells.first()?.trim_start_matches("| ").to_owned();
            Some((level, (*cells.get(1)?).to_owned()))
        })
        .collect()
}

#[test]
fn lines_are_found_and_read() {
    let mut lines = Lines::default();
    let source = r#"fn f() { if true { warn!(a = "b", "said {x} of {}", y); } error!("{z}"); info!("no"); }"#;
    lines.visit_file(&super::rust::parse(source).unwrap());
    let said = [("warn".to_owned(), "said … of …".to_owned())];
    assert_eq!(lines.0, said.into());
    assert_eq!(documented("| warn | said … of … | means | do |\n| level | x |"), lines.0);
    let mut fields = Fields::default();
    let source = r#"fn f() {
        warn!(a, tx.hash = %f(b, c), ?d, "said {x}", y);
        error!("{z}");
        info_span!(target: T, parent: None, "part", g.h = Empty);
        info_span!("request", i = 1);
    }"#;
    fields.visit_file(&super::rust::parse(source).unwrap());
    let named = ["a", "d", "i", "tx.hash"].map(str::to_owned);
    assert_eq!(fields.lines, named.into());
    assert_eq!(fields.spans, ["g.h".to_owned()].into());
}
