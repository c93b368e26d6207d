//! The state that a batch is compared with in its commit. One question: on a server each is a round trip.

use crate::commit::day_sums::DaySums;
use crate::commit::newest_day::{self, NewestDay};
use crate::commit::requests;
use crate::history::Newest;
use crate::model::Pause;
use crate::sql::{Database, Row, SqlError, SqlResult, columns, params};
use crate::{AcceptError, Proposal};
use billing::{BatchId, InBlocks, LaneLoad};
use policy::{Refusal, utc_day};

/// The state before a batch is accepted.
pub(crate) struct StateBefore {
    /// The pause of the chain, if somebody paused it.
    pub(crate) pause: Option<Pause>,
    /// The position that the lane's next batch gets; none when the lane was never opened.
    pub(crate) next: Option<u64>,
    /// The number of undecided batches of the lane. Counted only if blocks do not tell: see [`InBlocks`].
    pub(crate) undecided: u64,
    /// The number that the next batch gets.
    pub(crate) batch: BatchId,
    /// The number of the profile; none where it is new.
    pub(crate) profile: Option<i64>,
    /// The number of the contract; none where it never billed before.
    pub(crate) scope: Option<i64>,
    /// The digest of what the name of the request stands for; none where nothing has that name.
    pub(crate) request: Option<Vec<u8>>,
    /// The point from which the history goes on.
    pub(crate) newest: Newest,
    /// The sums of the day.
    pub(crate) sums: DaySums,
    /// The sums of the lane's account on its newest day.
    pub(crate) newest_day: NewestDay,
}

impl StateBefore {
    /// Asks for all of it.
    pub(crate) fn of(conn: &dyn Database, proposal: &Proposal) -> SqlResult<Self> {
        let (lane, contract) = (proposal.origin.lane, proposal.origin.contract);
        let request = proposal.request.as_ref();
        let mut ask = conn.prepare_cached(
            "SELECT by, since_ms, lane.next_position,
                    CASE WHEN ?8 = 1 THEN (SELECT count(*) FROM batch
                         WHERE state = 'open' AND batch.chain = ?1 AND batch.signer = ?2) ELSE 0 END,
                    (SELECT coalesce(max(id), 0) + 1 FROM batch),
                    (SELECT id FROM profile WHERE profile.chain = ?1 AND contract = ?3 AND body = ?4),
                    (SELECT digest FROM request WHERE id = ?5 AND caller_key = ?6),
                    history.seq, history.digest, spend.unit, spend.amount, account.signer, pause.why,
                    (SELECT id FROM scope WHERE scope.chain = ?1 AND scope.contract = ?3),
                    lane.day, lane.sums, CASE WHEN account.day = ?7 THEN account.sums END
             FROM (SELECT 1 AS one) AS always
             LEFT JOIN pause ON pause.chain = ?1
             LEFT JOIN lane ON lane.chain = ?1 AND lane.signer = ?2
             LEFT JOIN history ON history.seq = (SELECT max(seq) FROM history)
             LEFT JOIN lane AS account ON account.chain = ?1
             LEFT JOIN spend ON spend.chain = ?1 AND spend.signer = account.signer AND spend.day = ?7",
        )?;
        let mut rows = ask.query(params![
            lane.chain.0,
            lane.signer.as_slice(),
            contract.as_slice(),
            &*proposal.profile,
            request.map(|request| request.id.as_str()),
            request.map(|request| requests::caller_key(request.caller.as_ref())),
            utc_day(proposal.at_ms),
            matches!(proposal.in_blocks, InBlocks::Seen(_))
        ])?;
        let mut before: Option<Self> = None;
        while let Some(row) = rows.next_row()? {
            let known = match &mut before {
                Some(known) => known,
                first => first.insert(Self::read(&row)?),
            };
            let mut sums = newest_day::sums(&row, 16)?;
            if let Some(unit) = row.get(9)? {
                sums.insert(unit, columns::number(&row, 10)?);
            }
            if row.get::<Option<Vec<u8>>>(11)?.as_deref() == Some(lane.signer.as_slice()) {
                known.sums.take_in_own(sums);
            } else {
                known.sums.take_in(sums);
            }
        }
        before.ok_or(SqlError::NO_ROW)
    }

    /// Checks that the lane takes the batch: the lane is not paused and has room, and the request's name is free.
    /// The constraints alone tell whether the lane is at the position that the batch was signed for.
    pub(crate) fn admits(&self, proposal: &Proposal) -> Result<(), AcceptError> {
        if let Some(pause) = &self.pause {
            return Err(Refusal::paused(proposal.origin.lane.chain, &pause.to_string()).into());
        }
        let next = self.next.ok_or(AcceptError::NoLane)?;
        let load = match proposal.in_blocks {
            InBlocks::Below(mined) => LaneLoad::counted(next, mined).ok_or(AcceptError::Behind)?,
            InBlocks::Seen(seen) => LaneLoad::seen(self.undecided, seen),
        };
        if load.full(proposal.window).is_some() {
            return Err(AcceptError::LaneFull);
        }
        match (&proposal.request, self.request.as_deref()) {
            (Some(request), Some(known)) if known != request.digest.as_slice() => {
                Err(AcceptError::RequestTaken)
            }
            _ => Ok(()),
        }
    }

    fn read(row: &Row<'_>) -> SqlResult<Self> {
        let pause = match row.get(0)? {
            Some(by) => Some(Pause { by, since_ms: row.get(1)?, why: row.get(12)? }),
            None => None,
        };
        let newest = match row.get(7)? {
            Some(seq) => Newest { seq, digest: row.get(8)? },
            None => Newest::default(),
        };
        Ok(Self {
            pause,
            next: row.get(2)?,
            undecided: row.get(3)?,
            batch: BatchId(row.get(4)?),
            profile: row.get(5)?,
            scope: row.get(13)?,
            request: row.get(6)?,
            newest,
            sums: DaySums::default(),
            newest_day: NewestDay::read(row, 14)?,
        })
    }
}
