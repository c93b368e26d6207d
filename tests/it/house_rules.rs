//! The rules that the compiler does not hold: which module may know which, how long files and
//! functions may be, that one name is one thing, and that the documents speak of what exists.
//!
//! Reads the sources as text and needs nothing else of the crate but the words for batch states.

mod cycles;
mod documents;
mod fail_codes;
mod images;
mod layers;
mod left;
mod library;
mod log_lines;
mod names;
mod readmes;
mod recipes;
mod rust;
mod signatures;
mod sizes;
mod tree;
mod versions;
mod words;

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
