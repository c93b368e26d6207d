//! One call beside another of the same charges: the same but for when it stops being valid.

use super::Profile;
use super::call::{Arg, ArgSlot, Source};
use super::coerce::AbiKind;
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, U256};

/// The deadlines of two calls that are the same in all else, Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedDeadline {
    /// The deadline of the call before.
    pub before: U256,
    /// The deadline of the call now.
    pub now: U256,
}

impl Profile {
    /// Returns true if `calldata` begins with the selector of this profile.
    pub fn is_of(&self, calldata: &[u8]) -> bool {
        calldata.starts_with(self.call.selector.as_slice())
    }

    /// Returns true if both calls can be read, and differ in no argument but `deadline`.
    pub fn differ_in_deadlines(&self, before: &[u8], now: &[u8]) -> bool {
        let read = |calldata| self.call.read_args(calldata);
        let (Ok(before), Ok(now)) = (read(before), read(now)) else { return false };
        let mut pairs = self.call.args.iter().zip(before.iter().zip(&now));
        pairs.all(|(arg, (before, now))| arg.same_but_deadlines(before, now))
    }

    /// Returns the deadlines of two calls that differ in one argument alone: a `deadline` that is an argument of its
    /// own, and no field of another. None if more differs, or nothing.
    pub fn moved_deadline(&self, before: &[u8], now: &[u8]) -> Option<MovedDeadline> {
        let (before, now) = (self.call.read_args(before).ok()?, self.call.read_args(now).ok()?);
        let pairs = self.call.args.iter().zip(before.iter().zip(&now));
        let mut other = pairs.filter(|(_, (before, now))| before != now);
        let (Arg::One(slot), (before, now)) = other.next()? else { return None };
        let deadline = matches!((&slot.source, slot.kind), (Source::Deadline, AbiKind::Uint(_)));
        if !deadline || other.next().is_some() {
            return None;
        }
        Some(MovedDeadline { before: before.as_uint()?.0, now: now.as_uint()?.0 })
    }

    /// The addresses that `calldata` states as `signer`; none where it cannot be read, which [`Self::carried`] says.
    pub fn stated_signers(&self, calldata: &[u8]) -> Vec<Address> {
        let states = |slot: &ArgSlot| matches!(slot.source, Source::Signer);
        if !self.call.slots().any(|(_, slot)| states(slot)) {
            return Vec::new();
        }
        let args = self.call.read_args(calldata).unwrap_or_default();
        let read = self.call.args.iter().zip(&args).flat_map(|(arg, value)| arg.each_slot(value));
        let stated = read.filter(|(slot, _)| states(slot));
        stated.filter_map(|(_, value)| value.as_address()).collect()
    }
}

impl Arg {
    /// Returns true if two values of this argument have as many slots, and differ in none but those of deadlines.
    fn same_but_deadlines(&self, before: &DynSolValue, now: &DynSolValue) -> bool {
        let (before, now) = (self.each_slot(before), self.each_slot(now));
        let mut pairs = before.iter().zip(&now);
        before.len() == now.len()
            && pairs.all(|((slot, before), (_, now))| {
                matches!(slot.source, Source::Deadline) || before == now
            })
    }
}
