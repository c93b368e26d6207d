//! Files of every version that is kept, and versions that are yet to come.

use crate::book::config;
use crate::room::Room;
use journal::store::Migration;
use std::path::{Path, PathBuf};

/// Every version that was released, with what its file holds. A new version adds a file here, made by
/// `the_file_of_this_version_is_made`; no file is ever made again.
pub const KEPT: [i64; 1] = [5];

/// The file of a version.
pub fn kept(version: i64) -> PathBuf {
    let file = format!("tests/journals/v{version}.sqlite");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// A copy of a kept file in a directory of its own, without a mark.
pub fn copy_of(version: i64) -> Room {
    let room = Room::new();
    std::fs::copy(kept(version), config(&room).path).unwrap();
    room
}

/// Two versions after the newest one: columns, and a table that is made anew.
pub const LATER: [Migration; 2] = [
    Migration {
        to: 6,
        in_file: "ALTER TABLE batch ADD COLUMN note TEXT; UPDATE batch SET note = 'six';",
        on_server: "ALTER TABLE batch ADD COLUMN note TEXT; CREATE INDEX batch_note ON batch (note);
                    CREATE TABLE label (name TEXT PRIMARY KEY, means TEXT NOT NULL);",
    },
    Migration {
        to: 7,
        in_file: "CREATE TABLE restores (seq INTEGER PRIMARY KEY, known_until_ms INTEGER NOT NULL) STRICT;
              INSERT INTO restores SELECT seq, known_until_ms FROM restored; DROP TABLE restored;",
        on_server: "ALTER TABLE label RENAME COLUMN means TO meaning;",
    },
];
