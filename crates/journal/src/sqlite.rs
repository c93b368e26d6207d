//! The journal in a file: opened, checked, marked and written by one thread.

pub(crate) mod disk;
pub(crate) mod disks;
pub(crate) mod file_check;
pub(crate) mod file_mark;
pub(crate) mod files;
pub(crate) mod held_file;
pub(crate) mod log_at_close;
pub(crate) mod log_start;
pub(crate) mod migrations;
pub(crate) mod moved_file;
pub(crate) mod open;
pub(crate) mod schema_check;
pub(crate) mod shared_file;
pub(crate) mod start;
pub(crate) mod writer;
