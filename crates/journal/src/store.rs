//! For a crate that keeps the journal elsewhere than in a file: the work that a handle gives away, the start of a
//! process, and what every store writes besides.
//!
//! Nothing here writes a claim, a position or an attempt: those come as [`Job`]s out of the journal.

pub use crate::audit::watched as audit;
pub use crate::found_at_start::{Begun, Findings};
pub use crate::free_space::FreeSpace;
pub use crate::history::{head, holds};
pub use crate::job::{ClosedSignal, GROUP, Job, JobReply, Look, RanWrite, Write};
pub use crate::model::{BootId, differences};
pub use crate::open_error::{unanswered, unwritable};
pub use crate::opened::{Opened, TablesAtStart};
pub use crate::queue::WorkQueue;
pub use crate::server_link::{ServerLink, Usage};
pub use crate::sharing::instances::{InstanceTable, ServingInstance};
pub use crate::sqlite::files::find_place_for_mark;
pub use crate::sqlite::migrations::{Migration, OLDEST, STEPS, Steps};
pub use crate::sqlite::moved_file::{FileToMove, MovedFile, PlaceForFile, columns, tables};
pub use crate::tables::doubts::{
    begin as begin_doubts, begin_since as begin_doubts_since, left_ms,
};
pub use crate::tables::networks::contradiction;
pub use crate::tables::starts::{insert_boot, newest_boot};
