//! Looks for a key in the memory of this process, in every spelling that it could have.

#![expect(clippy::arithmetic_side_effects, reason = "a test may panic")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use parking_lot::Mutex;

use super::*;
use crate::secret::scrub_stack;
use zeroize::Zeroizing;

/// A key that is in memory only while it is written out: what stays is the key under a mask, so
/// that the search does not find itself.
struct Hidden {
    path: PathBuf,
    mask: [u8; 64],
    needles: [(&'static str, Vec<u8>); 3],
}

impl Hidden {
    fn new(room: &Room) -> Self {
        let mut mask = [0; 64];
        getrandom::getrandom(&mut mask).unwrap();
        let mut key = Box::new(Zeroizing::new([0_u8; 32]));
        getrandom::getrandom(key.as_mut_slice()).unwrap();
        key[0] &= 0x7f; // below the order
        let mut text = Box::new(Zeroizing::new([0_u8; 64]));
        hex::encode_to_slice(key.as_slice(), text.as_mut_slice()).unwrap();
        let path = room.file("key", std::str::from_utf8(text.as_slice()).unwrap(), 0o600);
        let under = |bytes: &mut dyn Iterator<Item = &u8>| {
            bytes.zip(mask).map(|(byte, mask)| byte ^ mask).collect()
        };
        let needles = [
            ("big endian", under(&mut key.iter())),
            ("limbs", under(&mut key.iter().rev())), // little-endian limbs: how k256 holds it
            ("hex", under(&mut text.iter())),
        ];
        Self { path, mask, needles }
    }

    /// How often each spelling is in writable memory.
    fn sightings(&self) -> [(&'static str, usize); 3] {
        let mut found = self.needles.each_ref().map(|(spelling, _)| (*spelling, 0));
        let memory = File::open("/proc/self/mem").unwrap();
        let mut chunk = Zeroizing::new(vec![0; 1 << 20]);
        let own = chunk.as_ptr().addr()..chunk.as_ptr().addr() + chunk.len();
        for line in fs::read_to_string("/proc/self/maps").unwrap().lines() {
            let mut words = line.split(' ');
            let (start, end) = words.next().unwrap().split_once('-').unwrap();
            if !words.next().unwrap().starts_with("rw") {
                continue;
            }
            let end = usize::from_str_radix(end, 16).unwrap();
            let mut at = usize::from_str_radix(start, 16).unwrap();
            while at < end {
                let wanted = chunk.len().min(end - at);
                let Ok(read) = memory.read_at(&mut chunk[..wanted], at.try_into().unwrap()) else {
                    break; // gone, or the kernel's own
                };
                let last = at + read >= end || read == 0;
                // a needle across two chunks is counted once, in the second
                let fresh = if last { read } else { read.saturating_sub(63) };
                let seen = &chunk[..read];
                for (needle, found) in self.needles.iter().zip(&mut found) {
                    let first = needle.1[0] ^ self.mask[0];
                    for (offset, _) in seen[..fresh].iter().enumerate().filter(|it| *it.1 == first)
                    {
                        let other = !own.contains(&(at + offset));
                        found.1 += usize::from(other && self.is_at(&needle.1, &seen[offset..]));
                    }
                }
                if last {
                    break;
                }
                at += fresh.max(1);
            }
        }
        found
    }

    fn is_at(&self, needle: &[u8], memory: &[u8]) -> bool {
        memory.len() >= needle.len()
            && needle.iter().zip(self.mask).zip(memory).all(|((n, mask), byte)| byte ^ mask == *n)
    }
}

/// One search at a time: its buffer holds, for a moment, what another one looks for.
static SEARCH: Mutex<()> = Mutex::new(());

const ONE: [(&str, usize); 3] = [("big endian", 0), ("limbs", 1), ("hex", 0)];
const NONE: [(&str, usize); 3] = [("big endian", 0), ("limbs", 0), ("hex", 0)];

#[test]
fn a_dropped_key_is_nowhere_in_memory() {
    let _alone = SEARCH.lock();
    let room = Room::new();
    let hidden = Hidden::new(&room);
    assert_eq!(hidden.sightings(), NONE, "before it is loaded");
    let key = file(hidden.path.clone()).unwrap();
    assert_eq!(hidden.sightings(), ONE, "while it is held");
    sign(&key, B256::repeat_byte(1));
    assert_eq!(hidden.sightings(), ONE, "after a signature");
    drop(key);
    assert_eq!(hidden.sightings(), NONE, "after it is dropped");
}

#[test]
fn a_key_from_a_keystore_is_in_memory_once() {
    let _alone = SEARCH.lock();
    let room = Room::new();
    let hidden = Hidden::new(&room);
    {
        let text = Zeroizing::new(fs::read_to_string(&hidden.path).unwrap());
        room.import("billing", &text, "password").unwrap();
        scrub_stack();
    }
    assert_eq!(hidden.sightings(), NONE, "after the import");
    let key = room.load("billing").unwrap();
    assert_eq!(hidden.sightings(), ONE, "while it is held");
    drop(key);
    assert_eq!(hidden.sightings(), NONE, "after it is dropped");
}
