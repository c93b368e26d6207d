//! Calldata of the billing call back to what it charges, and the same call with a new deadline.
//!
//! Reads only what [`Profile::encode`] can have written, to the last bit: bytes that a contract
//! might understand in another way are not understood at all.

use super::call::{Arg, ArgSlot, BillingCall, Source};
use super::coerce::same;
use super::{Computed, Profile};
use alloy::dyn_abi::{DynSolType, DynSolValue};
use alloy::primitives::{Address, Bytes, U256};
use billing::{Carried, Item, Period, PlanId, SubscribeId, Undecodable, UserHash, whole_number};

impl Profile {
    /// Reads the charges that `calldata` makes, in order. Fails if the call lacks a part of a charge.
    pub fn decode(&self, calldata: &[u8]) -> Result<Vec<Item>, Undecodable> {
        let named = |field| match (field, &self.period) {
            ("period", Some(name)) => Undecodable::NotCarried(name.clone()),
            (field, _) => Undecodable::NotCarried(field.to_owned()),
        };
        self.carried(calldata)?.iter().map(|one| one.item().map_err(named)).collect()
    }

    /// Reads what `calldata` says of each charge, in order, as far as the call carries it.
    pub fn carried(&self, calldata: &[u8]) -> Result<Vec<Carried>, Undecodable> {
        let args = self.call.read_args(calldata)?;
        let (mut shared, mut each) = (Gathered::default(), None::<Vec<Gathered>>);
        for (arg, value) in self.call.args.iter().zip(&args) {
            match arg {
                Arg::One(slot) => shared.note(slot, value)?,
                Arg::Struct(slots) => shared.note_all(slots, value)?,
                Arg::Each(_) | Arg::Rows(_) => {
                    let values = value.as_array().ok_or(Undecodable::Layout)?;
                    let each = each.get_or_insert_with(|| vec![Gathered::default(); values.len()]);
                    if each.len() != values.len() {
                        return Err(Undecodable::Lengths);
                    }
                    for (one, value) in each.iter_mut().zip(values) {
                        match arg {
                            Arg::Rows(slots) => one.note_all(slots, value)?,
                            Arg::Each(slot) | Arg::One(slot) => one.note(slot, value)?,
                            Arg::Struct(_) => {}
                        }
                    }
                }
            }
        }
        self.add_constants(&mut shared)?;
        let each = each.unwrap_or_else(|| vec![Gathered::default()]);
        each.into_iter().map(|one| one.and(&shared)).collect()
    }

    /// The addresses in `calldata` that nobody but entries state, by their names; none where it cannot be
    /// read, which [`Self::carried`] says.
    pub fn stated_addresses(&self, calldata: &[u8]) -> Vec<(String, Address)> {
        let free = self.free_addresses();
        if free.is_empty() {
            return Vec::new();
        }
        let args = self.call.read_args(calldata).unwrap_or_default();
        let read = self.call.args.iter().zip(&args).flat_map(|(arg, value)| arg.each_slot(value));
        let named = read.filter(|(slot, _)| free.contains(&slot.name.as_str()));
        named.filter_map(|(slot, value)| Some((slot.name.clone(), value.as_address()?))).collect()
    }

    /// Until when `calldata` may charge (Unix seconds), as often as it says so; none where it cannot be read,
    /// which [`Self::carried`] says.
    pub fn deadlines(&self, calldata: &[u8]) -> Vec<U256> {
        let args = self.call.read_args(calldata).unwrap_or_default();
        let read = self.call.args.iter().zip(&args).flat_map(|(arg, value)| arg.each_slot(value));
        let stated = read.filter(|(slot, _)| matches!(slot.source, Source::Deadline));
        stated.filter_map(|(_, value)| Some(value.as_uint()?.0)).collect()
    }

    /// The same call, with what the Signer computes computed anew and nothing else changed.
    pub fn renew(&self, calldata: &[u8], computed: &Computed) -> Result<Bytes, Undecodable> {
        self.shorten(calldata, usize::MAX, computed)
    }

    /// The same for its first `charges` charges alone, where it carries several.
    pub fn shorten(
        &self,
        calldata: &[u8],
        charges: usize,
        computed: &Computed,
    ) -> Result<Bytes, Undecodable> {
        let args = self.call.read_args(calldata)?;
        let args = self.call.args.iter().zip(args).map(|(arg, value)| {
            let rows = value.as_array().filter(|_| arg.per_entry());
            match rows {
                None => arg.renewed(&value, computed),
                Some(rows) => {
                    let rows = rows.iter().take(charges);
                    let rows = rows.map(|row| arg.renewed(row, computed));
                    rows.collect::<Result<_, _>>().map(DynSolValue::Array)
                }
            }
        });
        let args = args.collect::<Result<_, _>>()?;
        Ok(self.call.calldata(&DynSolValue::Tuple(args)).into())
    }

    /// Adds what the configuration says of every charge, whether the call carries it or not.
    fn add_constants(&self, shared: &mut Gathered) -> Result<(), Undecodable> {
        if self.period.is_none() {
            shared.0.period = Some(Period::Guarded);
        }
        for need in &self.needs {
            let Some(value) = &need.constant else { continue };
            let source = match &*need.name {
                "planId" => Source::Plan,
                "amount" => Source::Amount,
                "tokenAddress" => Source::Token,
                _ => continue,
            };
            shared.take(&source, &need.name, value)?;
        }
        Ok(())
    }
}

impl BillingCall {
    /// The arguments of `calldata`, if they are exactly what [`Self::calldata`] writes for them.
    pub(super) fn read_args(&self, calldata: &[u8]) -> Result<Vec<DynSolValue>, Undecodable> {
        let words = calldata.strip_prefix(self.selector.as_slice()).ok_or(Undecodable::Selector)?;
        let types = DynSolType::Tuple(self.args.iter().map(Arg::raw).collect());
        let raw = types.abi_decode_params(words).map_err(|_| Undecodable::Layout)?;
        let args = tuple(raw, self.args.len()).ok_or(Undecodable::Layout)?.into_iter();
        let args = args.zip(&self.args).map(|(raw, arg)| arg.strict(raw)).collect::<Option<_>>();
        let args = DynSolValue::Tuple(args.ok_or(Undecodable::Layout)?);
        // A decoder looks past what stands between and behind the arguments.
        if self.calldata(&args) != calldata {
            return Err(Undecodable::Layout);
        }
        tuple(args, self.args.len()).ok_or(Undecodable::Layout)
    }
}

impl Arg {
    /// The type to decode it as, so that [`Self::strict`] sees every bit.
    fn raw(&self) -> DynSolType {
        let row =
            |slots: &[ArgSlot]| DynSolType::Tuple(slots.iter().map(|s| s.kind.raw()).collect());
        match self {
            Self::One(slot) => slot.kind.raw(),
            Self::Struct(slots) => row(slots),
            Self::Each(slot) => DynSolType::Array(Box::new(slot.kind.raw())),
            Self::Rows(slots) => DynSolType::Array(Box::new(row(slots))),
        }
    }

    /// Converts a value decoded as [`Self::raw`] to the types of the call.
    fn strict(&self, raw: DynSolValue) -> Option<DynSolValue> {
        let row = |slots: &[ArgSlot], raw: DynSolValue| -> Option<DynSolValue> {
            let values = tuple(raw, slots.len())?.into_iter().zip(slots);
            let values = values.map(|(raw, slot)| slot.kind.strict(&raw));
            values.collect::<Option<_>>().map(DynSolValue::Tuple)
        };
        match (self, raw) {
            (Self::One(slot), raw) => slot.kind.strict(&raw),
            (Self::Struct(slots), raw) => row(slots, raw),
            (Self::Each(slot), DynSolValue::Array(raw)) => {
                let values = raw.into_iter().map(|raw| slot.kind.strict(&raw));
                values.collect::<Option<_>>().map(DynSolValue::Array)
            }
            (Self::Rows(slots), DynSolValue::Array(raw)) => {
                let rows = raw.into_iter().map(|raw| row(slots, raw));
                rows.collect::<Option<_>>().map(DynSolValue::Array)
            }
            (Self::Each(_) | Self::Rows(_), _) => None,
        }
    }
}

/// The values of a tuple that has so many.
fn tuple(value: DynSolValue, length: usize) -> Option<Vec<DynSolValue>> {
    let DynSolValue::Tuple(values) = value else { return None };
    (values.len() == length).then_some(values)
}

impl Arg {
    /// Every value in what was decoded for it, with what it is for.
    pub(super) fn each_slot<'v>(
        &'v self,
        value: &'v DynSolValue,
    ) -> Vec<(&'v ArgSlot, &'v DynSolValue)> {
        let row = |slots: &'v [ArgSlot], row: &'v DynSolValue| {
            slots.iter().zip(row.as_tuple().unwrap_or_default())
        };
        let rows = value.as_array().unwrap_or_default().iter();
        match self {
            Self::One(slot) => vec![(slot, value)],
            Self::Each(slot) => rows.map(|value| (slot, value)).collect(),
            Self::Struct(slots) => row(slots, value).collect(),
            Self::Rows(slots) => rows.flat_map(|one| row(slots, one)).collect(),
        }
    }
}

impl Arg {
    /// Returns the argument's value, for all charges or for one, with the computed parts computed anew.
    fn renewed(&self, old: &DynSolValue, now: &Computed) -> Result<DynSolValue, Undecodable> {
        match (self, old.as_tuple()) {
            (Self::One(slot) | Self::Each(slot), _) => renewed(slot, old, now),
            (Self::Struct(slots) | Self::Rows(slots), Some(values)) => {
                let values = slots.iter().zip(values).map(|(slot, old)| renewed(slot, old, now));
                values.collect::<Result<_, _>>().map(DynSolValue::Tuple)
            }
            (Self::Struct(_) | Self::Rows(_), None) => Err(Undecodable::Layout),
        }
    }
}

/// The statements on a charge in the arguments that were read so far.
#[derive(Clone, Debug, Default)]
struct Gathered(Carried);

impl Gathered {
    fn note_all(&mut self, slots: &[ArgSlot], value: &DynSolValue) -> Result<(), Undecodable> {
        let values = value.as_tuple().ok_or(Undecodable::Layout)?;
        slots.iter().zip(values).try_for_each(|(slot, value)| self.note(slot, value))
    }

    fn note(&mut self, slot: &ArgSlot, value: &DynSolValue) -> Result<(), Undecodable> {
        self.take(&slot.source, &slot.name, value)
    }

    fn take(
        &mut self,
        source: &Source,
        name: &str,
        value: &DynSolValue,
    ) -> Result<(), Undecodable> {
        let range = || Undecodable::Range(name.to_owned());
        let whole = || whole_number(value).ok_or_else(range);
        let int64 = || i64::try_from(whole()?).map_err(|_| range());
        let address = || value.as_address().ok_or(Undecodable::Layout);
        match source {
            Source::Subscribe => put(&mut self.0.subscribe, SubscribeId(int64()?), name),
            Source::Plan => put(&mut self.0.plan, PlanId(int64()?), name),
            Source::User => {
                let word = value.as_word().ok_or(Undecodable::Layout)?;
                put(&mut self.0.user, UserHash(word), name)
            }
            Source::Period => put(&mut self.0.period, Period::Numbered(whole()?), name),
            Source::Amount => put(&mut self.0.amount, whole()?, name),
            Source::Wallet => put(&mut self.0.wallet, address()?, name),
            Source::Token => put(&mut self.0.token, address()?, name),
            Source::Constant(ours) if !same(ours, value) => {
                Err(Undecodable::Constant(name.to_owned()))
            }
            Source::Field if name == "planVersion" => put(&mut self.0.plan_version, whole()?, name),
            Source::Constant(_) | Source::Deadline | Source::Signer | Source::Field => Ok(()),
        }
    }

    /// This charge with what it shares with all others.
    fn and(mut self, shared: &Self) -> Result<Carried, Undecodable> {
        join(&mut self.0.subscribe, shared.0.subscribe, "subscribeId")?;
        join(&mut self.0.plan, shared.0.plan, "planId")?;
        join(&mut self.0.user, shared.0.user, "userHash")?;
        join(&mut self.0.period, shared.0.period, "period")?;
        join(&mut self.0.amount, shared.0.amount, "amount")?;
        join(&mut self.0.plan_version, shared.0.plan_version, "planVersion")?;
        join(&mut self.0.wallet, shared.0.wallet, "userWallet")?;
        join(&mut self.0.token, shared.0.token, "tokenAddress")?;
        Ok(self.0)
    }
}

fn join<T: PartialEq>(
    place: &mut Option<T>,
    more: Option<T>,
    name: &str,
) -> Result<(), Undecodable> {
    more.map_or(Ok(()), |value| put(place, value, name))
}

fn put<T: PartialEq>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Undecodable> {
    match place {
        Some(other) if *other != value => Err(Undecodable::Contradiction(name.to_owned())),
        _ => {
            *place = Some(value);
            Ok(())
        }
    }
}

fn renewed(slot: &ArgSlot, old: &DynSolValue, now: &Computed) -> Result<DynSolValue, Undecodable> {
    match slot.source {
        Source::Deadline => {
            let fits = slot.kind.number(U256::from(now.deadline));
            fits.ok_or_else(|| Undecodable::Range(slot.name.clone()))
        }
        Source::Signer => Ok(DynSolValue::Address(now.signer)),
        Source::Constant(_)
        | Source::Subscribe
        | Source::Plan
        | Source::User
        | Source::Amount
        | Source::Wallet
        | Source::Token
        | Source::Period
        | Source::Field => Ok(old.clone()),
    }
}
