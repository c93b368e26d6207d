//! Gives every name of a contract profile its source, and finds all that is wrong with it at once.
//!
//! Nothing here runs after start-up.

use super::abi::Signature;
use super::call::{Arg, ArgSlot, BillingCall, Source};
use super::coerce::AbiKind;
use super::events::Event;
use super::lookup::{Lookup, Output};
use super::reasons::{Codes, Reasons};
use super::{Need, Profile, ProfileFault, ProfileFaults, written};
use alloy::dyn_abi::DynSolValue;
use billing::Family;
use config::BillingConfig;
use std::collections::{BTreeMap, BTreeSet};

/// Entry fields that the Signer knows, with a type that their values fit.
const KNOWN: [(&str, AbiKind); 9] = [
    ("subscribeId", AbiKind::Uint(256)),
    ("planId", AbiKind::Uint(256)),
    ("userHash", AbiKind::Fixed(32)),
    ("amount", AbiKind::Uint(256)),
    ("userWallet", AbiKind::Address),
    ("tokenAddress", AbiKind::Address),
    ("planVersion", AbiKind::Uint(256)),
    ("period", AbiKind::Uint(256)),
    ("chainId", AbiKind::Uint(256)),
];

/// The names that the checks before a charge need, for every form of call.
const CHECKED: [&str; 3] = ["amount", "userWallet", "tokenAddress"];

/// The names that tell one subscription from another.
const TELLS_APART: [&str; 3] = ["subscribeId", "userHash", "userWallet"];

/// Constants that an entry may state as well; it must then agree.
const TERMS: [&str; 4] = ["planId", "amount", "tokenAddress", "planVersion"];

/// The names, besides constants, that the contract's lookup may take as arguments.
const IDENTITY: [&str; 3] = ["subscribeId", "planId", "userHash"];

/// Names that the Signer computes.
const COMPUTED: [&str; 2] = ["deadline", "signer"];

/// All that the profile says about one name.
#[derive(Debug, Default)]
struct NameUse {
    kinds: Vec<AbiKind>,
    looked: bool,
    constant: Option<String>,
}

struct Loader<'a> {
    config: &'a BillingConfig,
    family: Family,
    faults: ProfileFaults,
    names: BTreeMap<String, NameUse>,
}

/// Reads a profile, or says all that is wrong with it.
pub(super) fn load(config: &BillingConfig, family: Family) -> Result<Profile, Vec<ProfileFault>> {
    let faults = ProfileFaults::default();
    let mut loader = Loader { config, family, faults, names: BTreeMap::new() };
    let call = loader.signature("call", Some(&config.call), "function");
    let lookup = loader.signature("lookup", config.lookup.as_deref(), "function");
    let charged = loader.signature("charged", config.charged.as_deref(), "event");
    let skipped = loader.signature("skipped", config.skipped.as_deref(), "event");

    let mut call = call.map(|signature| BillingCall::read(&signature, &mut loader.faults));
    let mut lookup = lookup.map(|signature| Lookup::read(&signature, &mut loader.faults));
    loader.gather(call.as_ref(), lookup.as_ref());
    let period = loader.period();
    loader.constants(period.as_deref());
    if let Some(call) = &mut call {
        loader.settle_call(call, period.as_deref());
    }
    if let Some(lookup) = &mut lookup {
        loader.settle_lookup(lookup);
    }

    let mut event = |key, signature: Option<Signature>| {
        signature.and_then(|s| Event::read(key, &s, period.as_deref(), &mut loader.faults))
    };
    let (charged, skipped) = (event("charged", charged), event("skipped", skipped));
    loader.outcomes(call.as_ref(), charged.as_ref(), skipped.as_ref());
    let codes = Codes {
        answer: call.as_ref().and_then(|call| call.answer),
        event: skipped.as_ref().and_then(Event::reason_kind),
        known: loader.faults.none_of(&["call", "skipped"]),
    };
    let reasons = Reasons::read(&config.reasons, codes, &mut loader.faults);
    let needs = loader.needs();
    match call {
        Some(call) if loader.faults.0.is_empty() => {
            tell_what_is_not_carried(&call, period.as_deref(), &config.constants);
            let written = written::write(config);
            Ok(Profile { family, call, lookup, needs, period, reasons, charged, skipped, written })
        }
        _ => Err(loader.faults.0),
    }
}

/// Says which fields of a charge cannot be read from its transaction.
fn tell_what_is_not_carried(
    call: &BillingCall,
    period: Option<&str>,
    constants: &BTreeMap<String, String>,
) {
    let slots: Vec<&ArgSlot> = call
        .args
        .iter()
        .flat_map(|arg| match arg {
            Arg::One(slot) | Arg::Each(slot) => std::slice::from_ref(slot),
            Arg::Struct(slots) | Arg::Rows(slots) => slots.as_slice(),
        })
        .collect();
    let carried =
        |name: &&str| slots.iter().any(|slot| slot.name == **name) || constants.contains_key(*name);
    let missing: Vec<&str> = IDENTITY
        .into_iter()
        .chain(["amount"])
        .chain(period)
        .filter(|name| !carried(name))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        tracing::warn!(
            "billing.call does not carry {missing}: a restored journal cannot be learnt from the \
             chain; use claims export/import"
        );
    }
}

impl Loader<'_> {
    fn signature(&mut self, key: &str, text: Option<&str>, keyword: &str) -> Option<Signature> {
        let mut signature = Signature::parse(text?, keyword)
            .map_err(|problem| self.faults.add(key, problem))
            .ok()?;
        for param in signature.inputs.iter_mut().chain(&mut signature.outputs) {
            param.rename("subscriptionId", "subscribeId");
        }
        Some(signature)
    }

    /// Collects the types of every name.
    fn gather(&mut self, call: Option<&BillingCall>, lookup: Option<&Lookup>) {
        for (_, slot) in call.into_iter().flat_map(BillingCall::slots) {
            self.note("call", &slot.name, slot.kind);
        }
        for slot in lookup.into_iter().flat_map(|lookup| &lookup.inputs) {
            self.note("lookup", &slot.name, slot.kind);
        }
        for output in lookup.into_iter().flat_map(|lookup| &lookup.outputs) {
            self.note_output(output);
        }
        for (name, kind) in KNOWN.into_iter().filter(|(name, _)| CHECKED.contains(name)) {
            self.note("call", name, kind);
        }
    }

    fn note_output(&mut self, output: &Output) {
        let name = output.name.as_str();
        if COMPUTED.contains(&name) {
            self.faults.add("lookup", format!("returns `{name}`, which the Signer computes"));
            return;
        }
        self.note("lookup", name, output.kind);
        let entry = self.names.entry(name.to_owned()).or_default();
        if std::mem::replace(&mut entry.looked, true) {
            self.faults.add("lookup", format!("returns `{name}` twice"));
        }
    }

    fn note(&mut self, key: &str, name: &str, kind: AbiKind) {
        if COMPUTED.contains(&name) {
            return;
        }
        let known = KNOWN.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind);
        if let Some(known) = known.filter(|known| !known.alike(kind)) {
            let wanted =
                if known.is_number() { "an integer".to_owned() } else { known.to_string() };
            self.faults.add(key, format!("has `{name}` as {kind}, but it is {wanted}"));
            return;
        }
        let kinds = &mut self.names.entry(name.to_owned()).or_default().kinds;
        if let Some(other) = kinds.iter().find(|other| !other.alike(kind)) {
            self.faults.add(key, format!("has `{name}` as {kind}, but elsewhere it is {other}"));
        } else if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }

    /// The entry field that numbers the period.
    fn period(&mut self) -> Option<String> {
        let Some(name) = self.config.period.as_deref() else {
            let carried = self.names.contains_key("period");
            return carried.then(|| {
                self.note("period", "period", AbiKind::Uint(256));
                "period".to_owned()
            });
        };
        let other = name != "period" && KNOWN.iter().any(|(known, _)| *known == name);
        if name.is_empty() || other || COMPUTED.contains(&name) {
            self.faults.add("period", format!("`{name}` cannot number the billing period"));
            return None;
        }
        self.note("period", name, AbiKind::Uint(256));
        Some(name.to_owned())
    }

    fn constants(&mut self, period: Option<&str>) {
        for (name, text) in &self.config.constants {
            if let Err(problem) = self.constant(name, text, period) {
                self.faults.add(format!("constants.{name}"), problem);
            }
        }
    }

    fn constant(&mut self, name: &str, text: &str, period: Option<&str>) -> Result<(), String> {
        if COMPUTED.contains(&name) {
            return Err("is computed by the Signer: remove it".to_owned());
        }
        if TELLS_APART.contains(&name) || period == Some(name) {
            return Err("differs from one charge to the next: it cannot be constant".to_owned());
        }
        let Some(found) = self.names.get_mut(name) else {
            let unused = "is used by neither call nor lookup: remove it";
            let all_read = self.faults.none_of(&["call", "lookup"]);
            return if all_read { Err(unused.to_owned()) } else { Ok(()) };
        };
        found.constant = Some(text.to_owned());
        for kind in &found.kinds {
            kind.constant(self.family, text).map_err(|problem| format!("{problem} ({kind})"))?;
        }
        Ok(())
    }

    fn constant_value(&self, name: &str, kind: AbiKind) -> Option<DynSolValue> {
        let text = self.names.get(name)?.constant.as_deref()?;
        kind.constant(self.family, text).ok()
    }

    fn settle_call(&mut self, call: &mut BillingCall, period: Option<&str>) {
        let single = call.single();
        let apart = call
            .slots()
            .any(|(each, slot)| (each || single) && TELLS_APART.contains(&slot.name.as_str()));
        if !apart && self.faults.none_of(&["call"]) {
            let names = TELLS_APART.join(", ");
            self.faults
                .add("call", format!("takes nothing that tells subscriptions apart ({names})"));
        }
        let mut unsupplied = BTreeSet::new();
        for (per_entry, slot) in call.slots_mut() {
            let kind = slot.kind;
            match self.source(slot, period) {
                Ok(Source::Field)
                    if kind == AbiKind::Address && !per_entry && !self.supplied(&slot.name) =>
                {
                    unsupplied.insert(slot.name.clone());
                }
                Ok(source) => slot.source = source,
                Err(problem) => self.faults.add("call", problem),
            }
        }
        for name in unsupplied {
            let problem = "is missing: call takes this address once, and no entry states it";
            self.faults.add(format!("constants.{name}"), problem);
        }
    }

    /// Returns true if a lookup or a constant supplies a name, even if that constant cannot be read.
    fn supplied(&self, name: &str) -> bool {
        self.config.constants.contains_key(name)
            || self.names.get(name).is_some_and(|found| found.looked)
    }

    fn source(&self, slot: &ArgSlot, period: Option<&str>) -> Result<Source, String> {
        let (name, kind) = (slot.name.as_str(), slot.kind);
        match (name, kind) {
            ("deadline", AbiKind::Uint(32..)) => return Ok(Source::Deadline),
            ("deadline", _) => {
                return Err(format!(
                    "has `deadline` as {kind}, but it is a uint of 32 bits or more"
                ));
            }
            ("signer", AbiKind::Address) => return Ok(Source::Signer),
            ("signer", _) => return Err(format!("has `signer` as {kind}, but it is an address")),
            _ => {}
        }
        if let Some(value) = self.constant_value(name, kind) {
            return Ok(Source::Constant(value));
        }
        Ok(match name {
            "subscribeId" => Source::Subscribe,
            "planId" => Source::Plan,
            "userHash" => Source::User,
            "amount" => Source::Amount,
            "userWallet" => Source::Wallet,
            "tokenAddress" => Source::Token,
            _ if period == Some(name) => Source::Period,
            _ => Source::Field,
        })
    }

    fn settle_lookup(&mut self, lookup: &mut Lookup) {
        if !lookup.inputs.iter().any(|slot| TELLS_APART.contains(&slot.name.as_str())) {
            self.faults.add("lookup", "must take subscribeId or userHash".to_owned());
        }
        for slot in &mut lookup.inputs {
            let name = slot.name.as_str();
            if let Some(value) = self.constant_value(name, slot.kind) {
                slot.source = Source::Constant(value);
            } else if COMPUTED.contains(&name) {
                let problem = format!("takes `{name}`, which exists only for the billing call");
                self.faults.add("lookup", problem);
            } else if !IDENTITY.contains(&name) && !self.config.constants.contains_key(name) {
                let problem = format!(
                    "takes `{name}`, which nothing supplies: add constants.{name}, or ask by {}",
                    IDENTITY.join(", ")
                );
                self.faults.add("lookup", problem);
            }
        }
        for output in &mut lookup.outputs {
            output.constant = self.constant_value(&output.name, output.kind);
        }
    }

    /// At finality somebody must be able to tell who was charged.
    fn outcomes(
        &mut self,
        call: Option<&BillingCall>,
        charged: Option<&Event>,
        skipped: Option<&Event>,
    ) {
        let answers = call.is_some_and(|call| call.answer.is_some());
        let (charges, skips) = (&self.config.charged, &self.config.skipped);
        if answers && charges.is_none() && skips.is_none() {
            let problem = "is missing: a call that returns codes does not revert for one \
                           subscription, so only an event proves who was charged; if it does \
                           revert, leave `returns` out of call";
            self.faults.add("charged", problem);
        }
        if let (Some(charged), Some(skipped)) = (charged, skipped)
            && charged.topic() == skipped.topic()
        {
            self.faults.add("skipped", "is the same event as charged");
        }
    }

    fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        for (name, found) in &self.names {
            let term = TERMS.contains(&name.as_str());
            if found.constant.is_some() && !term {
                continue;
            }
            let first = found.kinds.first();
            needs.push(Need {
                name: name.as_str().into(),
                kinds: found.kinds.clone(),
                looked: found.looked,
                constant: first.and_then(|kind| self.constant_value(name, *kind)),
            });
        }
        needs
    }
}
