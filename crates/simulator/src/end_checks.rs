//! The end of a history: its journal is audited, backed up and restored, and its sums are held against the chains.

use crate::disk::Files;
use crate::world::{Side, World};
use config::JournalConfig;
use journal::{Audit, copies};
use rusqlite::Connection;
use std::fs;

impl Files {
    /// I2: the history holds, a backup can be made of it, and what is restored from that backup holds as well.
    pub(crate) fn close(&self, config: &JournalConfig) -> Result<(), String> {
        let problem = |what: &str, why: &dyn std::fmt::Display| format!("I2: {what}: {why}");
        let audit = copies::audit(&self.journal(), &[]);
        let audit = sound(audit.map_err(|error| problem("the audit", &error))?)?;
        let (backup, restored) = (self.beside("closing.sqlite"), self.beside("restored.sqlite"));
        for name in [&backup, &restored] {
            fs::remove_file(name).unwrap_or_default();
        }
        let copied = copies::back_up(&self.journal(), &backup, &mut |_, _| {});
        let copied = sound(copied.map_err(|error| problem("no backup is made", &error))?)?;
        let into = JournalConfig { path: restored, ..config.clone() };
        let kept = [audit.head.clone()];
        let again = copies::restore(&into, &backup, &kept, &mut |_, _| {});
        let again = sound(again.map_err(|error| problem("the backup is not restored", &error))?)?;
        if [&copied, &again]
            .iter()
            .any(|other| (&other.head, other.batches) != (&audit.head, audit.batches))
        {
            return Err("I2: what was restored is not what was backed up".to_owned());
        }
        Ok(())
    }
}

fn sound(audit: Audit) -> Result<Audit, String> {
    match audit.faults.first() {
        None => Ok(audit),
        Some(fault) => Err(format!("I2: the history says: {fault}")),
    }
}

/// I4: no chain holds fewer charges than the journal says, and none more where nobody else had the key and nothing
/// was forgotten.
pub(crate) fn sums_are_true(world: &World, disk: &Connection) -> Result<(), String> {
    let charges = world.charges();
    for side in Side::ALL {
        let on_chain = charges.iter().filter(|(name, _)| name.0 == side);
        let on_chain = on_chain.map(|(_, paid)| paid.len()).sum::<usize>();
        let count = |outcome: &str| {
            let sql = "SELECT count(*) FROM claim JOIN batch ON batch.id = claim.batch
                       WHERE batch.chain = ?1 AND coalesce(outcome, state) = ?2";
            let row = |row: &rusqlite::Row<'_>| row.get::<_, usize>(0);
            disk.query_row(sql, (side.platform_id(), outcome), row).expect("the schema has it")
        };
        let (charged, unproven) = (count("charged"), count("unproven"));
        let alone = world.foreign == 0 && world.ever_forgotten == 0;
        if charged > on_chain || (alone && on_chain > charged + unproven) {
            return Err(format!(
                "I4: the journal says that {charged} were charged on {} and {unproven} perhaps, and the chain {on_chain}",
                side.name()
            ));
        }
    }
    Ok(())
}
