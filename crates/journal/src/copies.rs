//! Backups, and audits of files.

pub(crate) mod audit_file;
pub(crate) mod backup;
pub(crate) mod backup_directory;
pub(crate) mod copy_contents;
pub(crate) mod not_copied;
pub(crate) mod regular_backups;

pub use audit_file::{audit, audit_watched};
pub use backup::{back_up, look_at_copy, rehearse_restore, restore, the_copy};
