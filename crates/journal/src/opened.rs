//! A journal that was just opened, in a file or on a server: the parts that differ between the two.

use crate::figures::Figures;
use crate::found_at_start::{Findings, FoundAtStart};
use crate::free_space::FreeSpace;
use crate::pauses::Pauses;
use crate::queue::WorkQueue;
use crate::sharing::instances::{Instances, ServingInstance};
use crate::sql::{Database, SqlResult};
use crate::tables::networks::Renamed;
use crate::tables::pauses;
use crate::{Journal, Pause};
use billing::PlatformChainId;
use host::clock::Clock;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The parts that a store gives to a journal.
#[derive(Debug)]
pub struct Opened {
    /// To the threads that do the work.
    pub queue: WorkQueue,
    /// The threads' counters.
    pub figures: Arc<Figures>,
    /// The findings of this process's start, which is written down or soon will be.
    pub found: Findings,
    /// The content of the tables that are read once.
    pub tables: TablesAtStart,
    /// The room on the disk of a file.
    pub space: FreeSpace,
    /// This process among those that share the journal. None: it is a file.
    pub instance: Option<Arc<ServingInstance>>,
    /// The time that rows are dated by.
    pub clock: Clock,
}

/// The content of tables that a handle keeps in memory.
#[derive(Debug)]
pub struct TablesAtStart {
    pauses: BTreeMap<PlatformChainId, Pause>,
    renamed: Renamed,
}

impl TablesAtStart {
    /// Reads it.
    pub fn read(conn: &dyn Database) -> SqlResult<Self> {
        Ok(Self { pauses: pauses::all(conn)?, renamed: Renamed::read(conn)? })
    }
}

impl Journal {
    /// The handle of a journal that was opened.
    pub fn of(opened: Opened) -> Self {
        let Opened { queue, figures, found, tables, space, instance, clock } = opened;
        if found.was_closed {
            found.begun.set_found_closed();
        }
        Self {
            found: FoundAtStart::new(found),
            pauses: Pauses::new(tables.pauses, queue.clone()),
            instances: Instances::new(instance, queue.clone(), clock),
            renamed: Arc::new(tables.renamed),
            queue,
            figures,
            space: Arc::new(space),
            clock,
        }
    }
}
