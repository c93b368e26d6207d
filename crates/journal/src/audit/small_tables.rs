//! The small tables, put together again from the history: what chains stand for, which are paused, how far
//! each lane is, and which lanes are in doubt.

use crate::HistoryEvent;
use crate::history::HistoryRow;
use crate::sql::columns::{address, hash};
use crate::sql::{Database, Row, SqlResult};
use alloy::primitives::Address;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A chain and an account, as the history spells it.
type LaneName = (u64, String);

/// A chain and a contract.
type ContractName = (u64, String);

/// The rows that stand, according to the history.
#[derive(Debug, Default)]
pub(super) struct SmallTables {
    chains: BTreeMap<u64, Bound>,
    /// The naming of the periods of a contract's charges, and the batch from which it holds.
    contracts: BTreeMap<ContractName, (String, u64)>,
    pauses: BTreeMap<u64, (String, i64, Option<String>)>,
    lanes: BTreeMap<LaneName, LaneReach>,
    /// Lanes that are in doubt.
    doubts: BTreeMap<LaneName, Doubt>,
}

/// Until when a lane that is in doubt is known, Unix ms, and up to which block everything else is learnt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Doubt {
    since_ms: i64,
    read: Option<(u64, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    family: String,
    network: u64,
    contract: String,
}

/// The reach of a lane.
#[derive(Debug, Default)]
struct LaneReach {
    /// The next position as far as rows tell; none if the lane was not opened.
    next: Option<u64>,
    /// Positions beyond that are taken by what was learnt.
    ahead: BTreeSet<u64>,
}

impl LaneReach {
    /// The next position, if everything that was learnt has been passed.
    fn beyond_learnt(&self, from: u64) -> u64 {
        let mut next = from;
        while self.ahead.contains(&next) {
            next = next.saturating_add(1);
        }
        next
    }

    /// Returns true if the lane may stand at `position`. Imported positions are passed without a row of their own.
    fn may_be_at(&self, position: u64) -> bool {
        self.next.is_some_and(|next| next <= position && position <= self.beyond_learnt(next))
    }

    fn learn(&mut self, position: u64) {
        let Some(next) = self.next.filter(|next| *next <= position) else {
            if self.next.is_none() {
                self.ahead.insert(position);
            }
            return;
        };
        self.ahead.insert(position);
        if next == position {
            self.move_to(self.beyond_learnt(next));
        }
    }

    fn move_to(&mut self, next: u64) {
        self.next = Some(next);
        self.ahead = self.ahead.split_off(&next);
    }
}

impl Doubt {
    fn since(body: &Value) -> Option<Self> {
        Some(Self { since_ms: body.get("known_until_ms")?.as_i64()?, read: None })
    }

    fn read(row: &Row<'_>) -> SqlResult<Self> {
        let number: Option<u64> = row.get(3)?;
        let read = match number {
            Some(number) => Some((number, format!("{:#x}", hash(row, 4)?))),
            None => None,
        };
        Ok(Self { since_ms: row.get(2)?, read })
    }
}

impl SmallTables {
    /// A chain became known.
    fn bind(&mut self, body: &Value) -> Option<()> {
        let network = number(body, "network")?;
        let (family, contract) = (text(body, "family"), text(body, "contract"));
        self.chains.insert(number(body, "chain")?, Bound { family, network, contract });
        self.bill_through(body)
    }

    /// A batch was accepted at the next position of its lane, or the row is wrong.
    fn accept(&mut self, row: &HistoryRow<'_>, body: &Value) -> Option<String> {
        let place = body.get("place")?;
        let position = number(place, "position")?;
        let reach = self.lanes.entry(lane(place)?).or_default();
        if !reach.may_be_at(position) {
            return Some(format!("history row {} accepts a place out of order", row.seq));
        }
        reach.move_to(position.saturating_add(1));
        None
    }

    /// Takes in one row; tells what is wrong with it.
    pub(super) fn follow(&mut self, row: &HistoryRow<'_>, body: &Value) -> Option<String> {
        match row.kind()? {
            HistoryEvent::ChainBound => self.bind(body)?,
            HistoryEvent::ContractChanged => {
                self.chains.get_mut(&number(body, "chain")?)?.contract = text(body, "contract");
                self.bill_through(body)?;
            }
            HistoryEvent::ChainRenamed => self.rename(number(body, "from")?, number(body, "to")?),
            HistoryEvent::Paused => {
                let why = body.get("why").and_then(Value::as_str).map(str::to_owned);
                let pause = (text(body, "by"), row.at_ms, why);
                self.pauses.insert(number(body, "chain")?, pause);
            }
            HistoryEvent::Resumed => drop(self.pauses.remove(&number(body, "chain")?)),
            HistoryEvent::LaneOpened => {
                let lane = self.lanes.entry(lane(body)?).or_default();
                lane.next = Some(number(body, "first")?);
            }
            HistoryEvent::Accepted => return self.accept(row, body),
            HistoryEvent::Adopted | HistoryEvent::UsedElsewhere => {
                let place = body.get("place")?;
                let position = number(place, "position")?;
                self.lanes.entry(lane(place)?).or_default().learn(position);
            }
            HistoryEvent::Restored => {
                let since = Doubt::since(body)?;
                let opened = self.lanes.iter().filter(|(_, reach)| reach.next.is_some());
                // Older rows lack the field: no lane was put in doubt that the copy did not know.
                let others = body.get("unknown_lanes").map(|_| unknown_lanes());
                for name in opened.map(|(name, _)| name.clone()).chain(others) {
                    self.doubts.entry(name).or_insert_with(|| since.clone());
                }
            }
            HistoryEvent::UsedWithoutJournal => {
                let since = Doubt::since(body)?;
                self.doubts.entry(lane(body)?).or_insert(since);
            }
            HistoryEvent::BlocksRead => {
                let read = Some((number(body, "number")?, text(body, "id")));
                if let Some(doubt) = self.doubts.get_mut(&lane(body)?) {
                    doubt.read = read;
                }
            }
            HistoryEvent::LearntForgotten => drop(self.doubts.remove(&lane(body)?)),
            HistoryEvent::AllTakenUp => drop(self.doubts.remove(&unknown_lanes())),
            HistoryEvent::SignedAgain
            | HistoryEvent::Settled
            | HistoryEvent::Resolved
            | HistoryEvent::ClaimsPassedOn
            | HistoryEvent::PlaceTaken
            | HistoryEvent::Gate
            | HistoryEvent::TakenUp
            | HistoryEvent::Reconciled
            | HistoryEvent::Gas
            | HistoryEvent::Profile
            | HistoryEvent::Imported
            | HistoryEvent::Migrated
            | HistoryEvent::LogBegun => {}
        }
        None
    }

    fn bill_through(&mut self, body: &Value) -> Option<()> {
        let name = (number(body, "chain")?, text(body, "contract"));
        self.contracts.insert(name, (text(body, "period"), number(body, "since")?));
        Some(())
    }

    fn rename(&mut self, from: u64, to: u64) {
        if let Some(bound) = self.chains.remove(&from) {
            self.chains.insert(to, bound);
        }
        if let Some(pause) = self.pauses.remove(&from) {
            self.pauses.insert(to, pause);
        }
        let by_now =
            |(chain, signer): (u64, String)| (if chain == from { to } else { chain }, signer);
        let moved = |(name, value)| (by_now(name), value);
        self.lanes = std::mem::take(&mut self.lanes).into_iter().map(moved).collect();
        let moved = |(name, value)| (by_now(name), value);
        self.contracts = std::mem::take(&mut self.contracts).into_iter().map(moved).collect();
        let moved = |(name, value)| (by_now(name), value);
        self.doubts = std::mem::take(&mut self.doubts).into_iter().map(moved).collect();
    }

    /// Returns the differences between the tables and the history.
    pub(super) fn differences(&self, conn: &dyn Database) -> SqlResult<Vec<String>> {
        let chains: BTreeMap<u64, Bound> =
            all(conn, "SELECT id, family, network, contract FROM chain", |row| {
                let (family, network, contract) = (row.get(1)?, row.get(2)?, written(row, 3)?);
                Ok((row.get(0)?, Bound { family, network, contract }))
            })?;
        let contracts: BTreeMap<ContractName, (String, u64)> =
            all(conn, "SELECT chain, address, period, since FROM contract", |row| {
                Ok(((row.get(0)?, written(row, 1)?), (row.get(2)?, row.get(3)?)))
            })?;
        let pauses: BTreeMap<u64, (String, i64, Option<String>)> =
            all(conn, "SELECT chain, by, since_ms, why FROM pause", |row| {
                Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
            })?;
        let lanes: BTreeMap<LaneName, u64> =
            all(conn, "SELECT chain, signer, next_position FROM lane", |row| {
                Ok(((row.get(0)?, written(row, 1)?), row.get(2)?))
            })?;
        let doubts: BTreeMap<LaneName, Doubt> =
            all(conn, "SELECT chain, signer, since_ms, read_number, read_id FROM doubt", |row| {
                Ok(((row.get(0)?, written(row, 1)?), Doubt::read(row)?))
            })?;
        let opened = self.lanes.iter().filter(|(_, reach)| reach.next.is_some());
        let same_lanes = opened.clone().count() == lanes.len()
            && opened
                .clone()
                .all(|(name, reach)| lanes.get(name).is_some_and(|next| reach.may_be_at(*next)));
        // A lane that an old copy did not even know may be in doubt without a row.
        let same_doubts = self.doubts.iter().all(|(name, since)| doubts.get(name) == Some(since));
        let table = [
            (chains == self.chains, "what chains stand for is not what the history says"),
            (contracts == self.contracts, "what names periods is not what the history says"),
            (pauses == self.pauses, "the paused chains are not those of the history"),
            (same_lanes, "a lane is not where the history says"),
            (same_doubts, "a lane that forgot something is not in doubt any more"),
        ];
        let wrong = table.into_iter().filter(|(same, _)| !same);
        Ok(wrong.map(|(_, fault)| fault.to_owned()).collect())
    }
}

fn all<K: Ord, V>(
    conn: &dyn Database,
    sql: &str,
    read: fn(&Row<'_>) -> SqlResult<(K, V)>,
) -> SqlResult<BTreeMap<K, V>> {
    conn.prepare(sql)?.query_map([], read)?.collect()
}

/// An address, as the history writes it.
fn written(row: &Row<'_>, at: usize) -> SqlResult<String> {
    Ok(format!("{:#x}", address(row, at)?))
}

/// The place of the doubt about lanes that an old copy does not know.
fn unknown_lanes() -> LaneName {
    (0, format!("{:#x}", Address::ZERO))
}

fn lane(told: &Value) -> Option<LaneName> {
    Some((number(told, "chain")?, text(told, "signer")))
}

fn number(told: &Value, key: &str) -> Option<u64> {
    told.get(key)?.as_u64()
}

fn text(told: &Value, key: &str) -> String {
    told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
