//! The effects of broken rules on journals: on the file between two processes, and inside its own connection.

use crate::disk::Files;
use crate::genesis::biller;
use crate::mutants::Mutant;
use crate::seed_settings::Change;
use crate::world::{Shared, Side, World};
use rusqlite::Connection;

impl Files {
    /// Makes a journal agree with the present configuration, if such a rule is broken.
    pub(crate) fn forget_configuration(&self, world: &World) {
        match world.mutant {
            Some(Mutant::AnyNumber) => self.forget_number(world),
            Some(Mutant::AnyNaming) => {
                if let Some((side, Change::Naming)) = world.changed {
                    let sql = "UPDATE contract SET period = iif(period = '', 'period', '') WHERE chain = ?1";
                    self.open().execute(sql, [side.platform_id()]).expect("it fits the schema");
                }
            }
            Some(Mutant::AnyContract) => {
                if let Some((side, Change::Contract)) = world.changed {
                    let at = if side == Side::Evm { &world.evm_at } else { &world.tron_at };
                    let sql = "UPDATE chain SET contract = ?1 WHERE id = ?2";
                    let row = (at.other_billing.as_slice(), side.platform_id());
                    self.open().execute(sql, row).expect("it fits the schema");
                }
            }
            Some(_) | None => {}
        }
    }

    /// A journal remembers another chain behind a number that is not configured now, as long as it is not.
    fn forget_number(&self, world: &World) {
        for (side, at) in [(Side::Evm, &world.evm_at), (Side::Tron, &world.tron_at)] {
            let other = world.changed == Some((side, Change::Number));
            let network = i64::try_from(at.chain_id + u64::from(other)).unwrap_or(0);
            let sql = "UPDATE OR IGNORE chain SET network = ?1 WHERE id = ?2";
            self.open().execute(sql, (network, side.platform_id())).expect("it fits the schema");
        }
    }

    /// Frees the claims of an account that signs no more, if that rule is broken.
    pub(crate) fn free_what_others_claimed(&self, world: &World) {
        if !world.breaks(Mutant::ClaimsGoWithTheKey) {
            return;
        }
        let Some((side, change)) = world.changed else { return };
        for place in world.scene.billers(side, None) {
            if !world.scene.billers(side, Some(change)).contains(&place) {
                let sql = "UPDATE claim SET live = 0 WHERE batch IN
                           (SELECT id FROM batch WHERE chain = ?1 AND signer = ?2)";
                let account = (side.platform_id(), biller(place).address());
                let of = (account.0, account.1.as_slice());
                self.open().execute(sql, of).expect("it fits the schema");
            }
        }
    }
}

/// Breaks a rule inside the journal's own connection.
pub(crate) fn mutate(world: &Shared, conn: &Connection) {
    let world = world.lock();
    if let Some(sql) = world.mutant.and_then(Mutant::sql) {
        conn.execute_batch(sql).expect("it fits the schema");
    }
    if world.breaks(Mutant::TrustOldCopy) {
        let stands = i64::try_from(World::pending(&world.evm.truth)).unwrap_or(0);
        let sql = "UPDATE lane SET next_position = max(next_position, ?1) WHERE chain = ?2";
        conn.execute(sql, (stands, Side::Evm.platform_id())).expect("it fits the schema");
    }
}
