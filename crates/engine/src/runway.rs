//! The time for which a lane's means last: its gas money, in ordinary billings, and the limits of the day.

use super::lane_name::LaneName;
use super::role::Role;
use chain::{Chain, Headroom, Payer};
use journal::{GasMoney, Journal, LaneId};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use tracing::{info, warn};

/// The means of a lane: its gas money, and the limits of the day.
#[derive(Debug)]
pub struct Runway {
    chain: Arc<dyn Chain>,
    journal: Journal,
    name: LaneName,
    role: Role,
    /// Below how many billings left the gas money runs low.
    warn_below: u64,
    gas: Mutex<GasLevel>,
    /// The amounts of the limits of the day that were taken at the last look.
    day_limits: RwLock<Vec<Headroom>>,
}

/// The gas money, as it was told last.
#[derive(Clone, Copy, Debug, Default)]
struct GasLevel {
    /// True if the log says that it runs low.
    low: bool,
    /// True if the history says so.
    noted_low: bool,
}

impl Runway {
    /// The means of an account, before the chain was seen. The account warns when it can pay for fewer billings than
    /// `warn_below`.
    pub(super) fn new(
        chain: Arc<dyn Chain>,
        journal: Journal,
        name: LaneName,
        role: Role,
        warn_below: u64,
    ) -> Self {
        let (gas, day_limits) = (Mutex::default(), RwLock::default());
        Self { chain, journal, name, role, warn_below, gas, day_limits }
    }

    /// Returns the number of further ordinary batches that the account can pay for; none if the number is unknown,
    /// or if nothing new is signed anyway.
    pub fn billings_left(&self) -> Option<u64> {
        let begins = self.role.signs() && self.chain.signs();
        self.chain.vitals().filter(|_| begins)?.billings_left()
    }

    /// Returns warnings: things to do soon, although all is well now.
    pub fn warnings(&self) -> Vec<String> {
        let low = self.billings_left().filter(|left| *left < self.warn_below);
        low.map(|left| self.runs_low(left)).into_iter().collect()
    }

    /// Says once that the gas money runs low, and once that it no longer does. For the latter, the gas money has to
    /// rise by a quarter above the mark, so that prices that move around the mark are not told again and again.
    /// Each of the two is a row of the history.
    pub(super) async fn watch_gas(&self) {
        let Some(left) = self.billings_left() else { return };
        let GasLevel { low, noted_low } = self.gas_level(left);
        if noted_low == low {
            return;
        }
        let why = if low { self.runs_low(left) } else { lasts(left) };
        // A note that cannot be written is tried again at the next look.
        let money = if low { GasMoney::Low } else { GasMoney::Lasts };
        if self.journal.lane(self.id()).note_gas(money, why).await.is_ok() {
            self.gas.lock().noted_low = low;
        }
    }

    /// Brings the level to the number of billings left; says so where that is news.
    fn gas_level(&self, left: u64) -> GasLevel {
        let LaneName { chain, account } = &self.name;
        let mark = self.warn_below;
        let mut gas = self.gas.lock();
        if left < mark && !gas.low {
            gas.low = true;
            let said = self.runs_low(left);
            warn!(chain, account, billings_left = left, "{said}");
        } else if left >= mark.saturating_add(mark >> 2) && gas.low {
            gas.low = false;
            info!(chain, account, billings_left = left, "the gas money lasts again");
        }
        *gas
    }

    fn runs_low(&self, left: u64) -> String {
        let payer = Payer::of(self.chain.facts());
        let holds = self.chain.vitals().map(|vitals| vitals.balance).unwrap_or_default();
        format!(
            "the gas money runs low: the signing account {payer} holds {} and can pay for {left} more billings like the \
             last one: send {} to it",
            payer.coins(holds),
            payer.coin()
        )
    }

    /// Remembers the amounts of the limits of the day that are taken, so that a query need not wait for the
    /// journal. Amounts that cannot be read stay as they were.
    pub(super) async fn watch_limits(&self) {
        let limits = self.chain.policy().limits_of_day();
        if limits.is_empty() || !self.role.signs() {
            return;
        }
        let Ok(spent) = self.journal.spent(self.id().chain, self.journal.now_ms()).await else {
            return;
        };
        let taken = |unit: &str| spent.iter().find(|sum| sum.unit == unit).map(|sum| sum.amount);
        let rooms = limits.into_iter().map(|(limit, unit, most)| Headroom {
            taken: taken(&unit.word()).unwrap_or_default(),
            limit,
            most,
        });
        *self.day_limits.write() = rooms.collect();
    }

    /// Returns the headroom below every limit: sums of the day, prices and fees.
    pub fn headrooms(&self) -> Vec<Headroom> {
        let mut all = self.day_limits.read().clone();
        all.extend(self.chain.vitals().into_iter().flat_map(|vitals| vitals.headrooms));
        all
    }

    fn id(&self) -> LaneId {
        let facts = self.chain.facts();
        LaneId { chain: facts.id, signer: facts.signer }
    }
}

fn lasts(left: u64) -> String {
    format!("the gas money lasts again, for {left} billings like the last one")
}
