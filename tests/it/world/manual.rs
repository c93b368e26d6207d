//! Commands as the pages for operators have them: run as they are written there, and nothing else.

use super::signer::Installation;
use std::process::Output;

const MANUAL: &str = concat!(
    include_str!("../../../docs/install.md"),
    include_str!("../../../docs/journal.md"),
    include_str!("../../../docs/incidents.md"),
    include_str!("../../../docs/door.md"),
    include_str!("../../../docs/nodes.md"),
    include_str!("../../../docs/limits.md"),
    include_str!("../../../docs/changes.md"),
    include_str!("../../../docs/keys.md"),
);

/// Runs a command of the manual. `given` stands for what the manual leaves open.
pub(crate) async fn run(
    installation: &Installation,
    written: &str,
    given: &[(&str, &str)],
) -> Output {
    assert!(MANUAL.contains(&format!("`{written}`")), "no page for operators has `{written}`");
    let (command, input) = match written.split_once(" < ") {
        Some((command, file)) => (command, Some(installation.path().join(file))),
        None => (written, None),
    };
    let mut words: Vec<String> =
        command.split(' ').skip(1).map(|word| word.trim_matches('"').to_owned()).collect();
    for (open, value) in given {
        let place = words.iter().position(|word| word == open).expect(open);
        (*value).clone_into(&mut words[place]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match input {
        Some(file) => installation.tell(&words, &std::fs::read_to_string(file).unwrap()).await,
        None => installation.run(&words).await,
    }
}

/// A line of the configuration, if the manual has it.
pub(crate) fn line(written: &str) -> &str {
    assert!(MANUAL.contains(&format!("`{written}`")), "no page for operators has `{written}`");
    written
}
