//! One test per recorded file.

use crate::recording::Recording;
use crate::world::world;

#[test]
fn explore() {
    for name in
        std::env::args().skip(1).filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
    {
        let recording = Recording::read(&name);
        let node = world(&recording);
        for line in recording.replay(&node, |_, event| println!("event {event}")) {
            println!("{line}");
        }
    }
    let _ = ();
}

#[test]
fn explore_all() {
    for name in std::env::var("FILES").unwrap_or_default().split_whitespace() {
        let recording = Recording::read(name);
        let node = world(&recording);
        for line in recording.replay(&node, |node, event| {
            println!("event {event}");
            if event.contains("kill") {
                node.restart();
            }
        }) {
            println!("{line}");
        }
    }
}
