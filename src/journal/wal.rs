//! The log (`-wal`) of a SQLite database, read while another connection writes it.
//! <https://sqlite.org/fileformat2.html#the_write_ahead_log>
//!
//! A log is a header, and frames of which each holds a page. The checksum of each frame goes on from that of
//! the frame before it, and a frame that ends a commit says so: what is read up to such a frame, with all
//! checksums right, was committed. When all of it is in the database, its writer begins anew at the front,
//! under another salt, and what it has not overwritten yet can still be read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Where the first frame begins.
const FRAMES: u64 = 32;

/// How long the head of a frame is, bytes; its page follows.
const FRAME_HEAD: usize = 24;

/// A checksum over everything up to some byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LogSum(u32, u32);

/// In which order the bytes of a word are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl LogSum {
    fn and(self, order: ByteOrder, bytes: &[u8]) -> Self {
        let word = |bytes: [u8; 4]| match order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        };
        let (pairs, _) = bytes.as_chunks::<4>().0.as_chunks::<2>();
        pairs.iter().fold(self, |Self(first, second), [one, other]| {
            let first = first.wrapping_add(word(*one)).wrapping_add(second);
            Self(first, second.wrapping_add(word(*other)).wrapping_add(first))
        })
    }

    fn is_written_in(self, bytes: &[u8]) -> bool {
        bytes == [self.0.to_be_bytes(), self.1.to_be_bytes()].concat()
    }
}

/// The head of a log. It changes each time the log begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogHeader {
    bytes: [u8; 32],
    order: ByteOrder,
    page_size: u32,
}

impl LogHeader {
    /// The head of a log; none where it has none yet, or is being given another one.
    pub(super) fn read(log: &File) -> io::Result<Option<Self>> {
        let mut bytes = [0; 32];
        let whole = read_at(log, 0, &mut bytes)?;
        Ok(if whole { Self::parse(bytes) } else { None })
    }

    fn parse(bytes: [u8; 32]) -> Option<Self> {
        let order = match number(&bytes, 0)? {
            0x377f_0682 => ByteOrder::Little,
            0x377f_0683 => ByteOrder::Big,
            _ => return None,
        };
        let sum = LogSum::default().and(order, bytes.get(..24)?);
        let page_size = number(&bytes, 8)?;
        let fits = page_size.is_power_of_two() && (512..=65_536).contains(&page_size);
        let whole = fits && sum.is_written_in(bytes.get(24..)?);
        whole.then_some(Self { bytes, order, page_size })
    }

    /// What each frame under this head repeats.
    fn salt(&self) -> &[u8] {
        self.bytes.get(16..24).unwrap_or_default()
    }

    /// Whether this is the head that a log gets after it had the head `before`.
    fn follows(&self, before: &Self) -> bool {
        let count = |head: &Self| number(&head.bytes, 16);
        count(before).map(|count| count.wrapping_add(1)) == count(self)
    }

    fn sum(&self) -> LogSum {
        LogSum::default().and(self.order, self.bytes.get(..24).unwrap_or_default())
    }

    fn frame(&self) -> Vec<u8> {
        let page = usize::try_from(self.page_size).unwrap_or(usize::MAX);
        vec![0; page.saturating_add(FRAME_HEAD)]
    }

    /// The checksum up to the end of a frame that follows `before`; none where it does not follow.
    fn judge(&self, before: LogSum, frame: &[u8]) -> Option<LogSum> {
        let (head, page) = frame.split_at_checked(FRAME_HEAD)?;
        let sum = before.and(self.order, head.get(..8)?).and(self.order, page);
        let ours = head.get(8..16)? == self.salt() && sum.is_written_in(head.get(16..)?);
        ours.then_some(sum)
    }
}

/// A place in a log, under the head that the log had there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    head: [u8; 32],
    at: u64,
}

#[cfg(test)]
impl LogEnd {
    /// Whether the log went on to `later` without beginning anew.
    pub(super) fn is_behind(self, later: Self) -> bool {
        self.head == later.head
    }
}

/// How far a log was copied under one head.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogPlace {
    header: LogHeader,
    /// Of the byte behind the last commit.
    end: u64,
    /// Up to there.
    sum: LogSum,
    /// How many pages the database has after that commit; 0 before the first one.
    pages: u32,
}

impl LogPlace {
    /// Before the first frame; `copy` gets the head.
    pub(super) fn begin(header: LogHeader, copy: &File) -> io::Result<Self> {
        copy.set_len(0)?;
        copy.write_all_at(&header.bytes, 0)?;
        Ok(Self { header, end: FRAMES, sum: header.sum(), pages: 0 })
    }

    /// The head of the log.
    pub(super) fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Behind the last commit that was copied.
    pub(super) fn end(&self) -> LogEnd {
        LogEnd { head: self.header.bytes, at: self.end }
    }

    /// Copies what was committed since. Frames that no commit follows yet may be copied as well: nobody
    /// takes them for committed, and they are copied again.
    pub(super) fn advance(&mut self, log: &File, copy: &File) -> io::Result<()> {
        let (mut at, mut sum, mut frame) = (self.end, self.sum, self.header.frame());
        while read_at(log, at, &mut frame)? {
            let Some(now) = self.header.judge(sum, &frame) else { break };
            copy.write_all_at(&frame, at)?;
            (at, sum) = (at.saturating_add(size(&frame)), now);
            let pages = number(&frame, 4).unwrap_or_default();
            if pages > 0 {
                (self.end, self.sum, self.pages) = (at, sum, pages);
            }
        }
        Ok(())
    }

    /// Whether the log, which has the head `newer` by now, may have lost frames that stood behind `from`
    /// before they were copied.
    pub(super) fn was_overtaken(
        &self,
        from: LogEnd,
        newer: &LogHeader,
        log: &File,
    ) -> io::Result<bool> {
        let mut frame = self.header.frame();
        let overwritten =
            read_at(log, from.at, &mut frame)? && frame.get(8..16) == Some(newer.salt());
        Ok(overwritten || !newer.follows(&self.header))
    }

    /// Puts every page of the copied log in its place in the copied database.
    pub(super) fn merge(&self, copy: &File, database: &File) -> io::Result<()> {
        let (mut at, mut frame) = (FRAMES, self.header.frame());
        while at < self.end && read_at(copy, at, &mut frame)? {
            let page = number(&frame, 0).and_then(|page| page.checked_sub(1));
            let place = page.map(|page| self.bytes_of(page));
            let page = frame.get(FRAME_HEAD..).unwrap_or_default();
            database.write_all_at(page, place.ok_or(io::ErrorKind::InvalidData)?)?;
            at = at.saturating_add(size(&frame));
        }
        if self.pages > 0 {
            database.set_len(self.bytes_of(self.pages))?;
        }
        database.sync_all()
    }

    fn bytes_of(&self, pages: u32) -> u64 {
        u64::from(pages).saturating_mul(self.header.page_size.into())
    }
}

fn size(frame: &[u8]) -> u64 {
    u64::try_from(frame.len()).unwrap_or(u64::MAX)
}

/// The big-endian number at a place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Fills `bytes` from a place of the file on; false where it ends before that.
fn read_at(file: &File, at: u64, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact_at(bytes, at) {
        Ok(()) => Ok(true),
        Err(end) if end.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(other) => Err(other),
    }
}
