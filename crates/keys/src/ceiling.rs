//! A ceiling over what is signed on one day (UTC), kept by the process that holds the keys.
//!
//! The journal's sums are exact: an amount that a batch did not charge is given back to its day, which the chain
//! alone tells. These sums know nothing of that and only grow, so they are held to a multiple of the limits. An
//! attacker who has taken over the process with the journal can have that much signed on a day, and no more.
//!
//! The file is opened before the process gives up opening files. It is read and written under a lock for each
//! signature: two such processes run while a configuration is taken up anew. It is not synced, which would cost
//! every signature as much as its commit: a power cut may take back the sums of its last seconds.

use alloy::primitives::U256;
use billing::PlatformChainId;
use host::clock::Clock;
use host::owner_only;
use parking_lot::Mutex;
use policy::{Count, Refusal, utc_day};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Multiple of a day's limit that may be signed for on it. Leaves room for amounts that were signed and not
/// committed, and for amounts that came back to the day.
const TIMES: u64 = 3;

/// The largest file, bytes: many times what the tokens of all chains need.
const LARGEST: usize = 1 << 16;

/// The beginning of the file's last line.
const END: &str = "end ";

/// Why the sums cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CeilingFault {
    /// The file cannot be opened, read or written.
    #[error("{0}")]
    System(#[from] io::Error),
    /// It is not closed to others.
    #[error(transparent)]
    Loose(#[from] owner_only::Looseness),
    /// It holds something else.
    #[error("it does not hold what was written to it")]
    Odd,
}

/// The sums of one day, and how much they may come to.
#[derive(Debug)]
pub struct DayCeiling {
    clock: Clock,
    /// None where no chain has a limit of the day.
    file: Option<File>,
    /// As they were last seen. The file may be behind them, and is then not believed.
    known: Mutex<SignedSums>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SignedSums {
    /// Days since 1970-01-01.
    day: i64,
    /// By the chain and the word of the unit. Base units, wei or sun.
    of: BTreeMap<(u32, String), U256>,
}

impl DayCeiling {
    /// Sums that nothing is held to.
    pub fn unlimited(clock: Clock) -> Self {
        Self { clock, file: None, known: Mutex::default() }
    }

    /// The sums in this file, and whether there were none, so that they begin at zero.
    pub fn open(path: &Path, clock: Clock) -> Result<(Self, bool), CeilingFault> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(path)?;
        owner_only::check(&file.metadata()?)?;
        let read = locked(&file, || read(&file))?;
        let (known, new) = (read.clone().unwrap_or_default(), read.is_none());
        Ok((Self { clock, file: Some(file), known: Mutex::new(known) }, new))
    }

    /// The clock that days are told by.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Adds all of these to the sums of today, or none where one of them would be above its ceiling.
    pub fn take(&self, chain: PlatformChainId, counts: &[Count]) -> Result<(), Refusal> {
        let limited = || counts.iter().filter_map(|count| Some((count, count.most?)));
        let Some(file) = self.file.as_ref().filter(|_| limited().next().is_some()) else {
            return Ok(());
        };
        let mut known = self.known.lock();
        let taken = locked(file, || {
            let begun = *known != SignedSums::default();
            let kept = read(file)?;
            if kept.is_none() && begun {
                return Err(CeilingFault::Odd);
            }
            let today = utc_day(self.clock.unix_ms());
            let mut sums = known.clone().and(kept.unwrap_or_default()).on(today);
            for (count, most) in limited() {
                if let Err(refusal) = sums.add(chain, count, most.saturating_mul(U256::from(TIMES)))
                {
                    return Ok(Err(refusal));
                }
            }
            file.write_all_at(sums.written().as_bytes(), 0)?;
            *known = sums;
            Ok(Ok(()))
        });
        taken.unwrap_or_else(|why| {
            let why = format!(
                "how much was signed today is not known ({why}); see to the file, and start the Signer again"
            );
            Err(Refusal { rule: "keys.ceiling_file".to_owned(), why })
        })
    }
}

impl SignedSums {
    /// The higher of both, of the later day.
    fn and(mut self, other: Self) -> Self {
        if self.day != other.day {
            return if self.day > other.day { self } else { other };
        }
        for (unit, amount) in other.of {
            let sum = self.of.entry(unit).or_default();
            *sum = (*sum).max(amount);
        }
        self
    }

    /// Those of `day`. A clock that goes back does not bring back another day.
    fn on(self, day: i64) -> Self {
        if day > self.day { Self { day, of: BTreeMap::new() } } else { self }
    }

    fn add(&mut self, chain: PlatformChainId, count: &Count, most: U256) -> Result<(), Refusal> {
        let sum = self.of.entry((chain.0, count.unit.word())).or_default();
        let after = sum.saturating_add(count.amount);
        if after > most {
            let rule = count.rule.clone();
            let [signed, needs] = [*sum, count.amount].map(|amount| count.units.tell(amount));
            let why = format!(
                "the process that holds the keys has signed for {signed} today (UTC), this needs {needs} more, and \
                 it signs for {TIMES} times the limit at most, whatever came of it; find out what was signed, \
                 and wait until tomorrow or raise the limit"
            );
            return Err(Refusal { rule, why });
        }
        *sum = after;
        Ok(())
    }

    /// As text, with a digest behind it.
    fn written(&self) -> String {
        let mut text = format!("day {}\n", self.day);
        for ((chain, unit), sum) in &self.of {
            // Writing to a text never fails.
            writeln!(text, "{chain} {unit} {sum}").ok();
        }
        let digest = hex::encode(Sha256::digest(&text));
        writeln!(text, "{END}{digest}").ok();
        text
    }

    /// Reads the text of [`Self::written`]. Text behind the digest was written before, when there was more.
    fn parse(text: &str) -> Option<Self> {
        let (body, rest) = text.split_at(text.find(&format!("\n{END}"))?.checked_add(1)?);
        let digest = rest.strip_prefix(END)?.lines().next()?;
        if digest != hex::encode(Sha256::digest(body)) {
            return None;
        }
        let mut lines = body.lines();
        let day = lines.next()?.strip_prefix("day ")?.parse().ok()?;
        let row = |line: &str| {
            let mut words = line.split(' ');
            let (chain, unit) = (words.next()?.parse().ok()?, words.next()?.to_owned());
            Some(((chain, unit), words.next()?.parse().ok()?))
        };
        Some(Self { day, of: lines.map(row).collect::<Option<_>>()? })
    }
}

/// Does it while no other process does.
fn locked<T>(
    file: &File,
    work: impl FnOnce() -> Result<T, CeilingFault>,
) -> Result<T, CeilingFault> {
    flock(file, FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let done = work();
    flock(file, FlockOperation::Unlock).map_err(io::Error::from)?;
    done
}

/// Reads the content of the file; none if it is empty.
fn read(file: &File) -> Result<Option<SignedSums>, CeilingFault> {
    let mut bytes = vec![0; LARGEST];
    let mut length = 0_usize;
    while let Some(room) = bytes.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read_at(room, u64::try_from(length).unwrap_or(u64::MAX)) {
            Ok(0) => break,
            Ok(more) => length = length.saturating_add(more),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why.into()),
        }
    }
    if length == 0 {
        return Ok(None);
    }
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(SignedSums::parse).map(Some).ok_or(CeilingFault::Odd)
}

#[cfg(test)]
mod tests;
