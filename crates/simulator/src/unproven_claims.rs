//! Claims of which the journal does not know whether they are charged, and what callers hear of them.

use crate::callers::{Heard, Request};
use crate::seed_settings::Shape;
use crate::world::{Side, World};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// A subscription in a period, on a chain.
type Subject = (Side, u64, String);

/// The unproven subjects, and the time since which the journal says so (ms).
#[derive(Debug, Default)]
pub(crate) struct Unproven(BTreeMap<Subject, u64>);

impl Unproven {
    /// The journal is about to commit this.
    pub(crate) fn read(&mut self, disk: &Connection, now_ms: u64) {
        let sql = "SELECT chain, subscribe_id, period FROM claim JOIN scope ON scope.id = claim.scope
                    WHERE live = 1 AND outcome = 'unproven' AND resolved IS NULL AND guard_until_s IS NULL";
        let mut select = disk.prepare_cached(sql).expect("the schema has it");
        let subject = |row: &rusqlite::Row<'_>| {
            Ok((Side::of(row.get(0)?), row.get::<_, u64>(1)?, row.get::<_, String>(2)?))
        };
        let rows = select.query_map([], subject).expect("it is read");
        let before = std::mem::take(&mut self.0);
        let since = |subject: Subject| {
            let since_ms = before.get(&subject).copied().unwrap_or(now_ms);
            (subject, since_ms)
        };
        self.0 = rows.map(|row| since(row.expect("a row"))).collect();
    }

    fn is_since(&self, subject: &Subject, asked_ms: u64) -> bool {
        self.0.get(subject).is_some_and(|since_ms| *since_ms < asked_ms)
    }
}

impl World {
    /// D11: of whom the journal cannot tell whether they are charged, no answer says that they are, or will be.
    pub(crate) fn unproven_is_told(
        &self,
        request: &Request,
        heard: &Heard,
        asked_ms: u64,
        life: u64,
    ) -> Result<(), String> {
        let told = matches!(self.scene.shape(request.side), Shape::Full | Shape::Bare);
        if !told || self.bills_elsewhere(request.side) || life != self.life {
            return Ok(());
        }
        let said = |id: u64| match heard {
            Heard::Sent { subscriptions, .. } if subscriptions.contains(&id) => true,
            Heard::Sent { failed: list, .. } | Heard::Refused(list) => {
                list.iter().any(|one| one.customer == id && one.retry == "DONE")
            }
            Heard::NothingDone(_) | Heard::TooFew | Heard::Disagreed | Heard::TooMany => false,
        };
        for line in &request.lines {
            let subject = (request.side, line.customer, line.period.to_string());
            if said(line.customer) && self.watch.unproven.is_since(&subject, asked_ms) {
                return Err(format!(
                    "D11: request {} was told that {} is charged, which the journal cannot tell",
                    request.number, line.customer
                ));
            }
        }
        Ok(())
    }
}
