//! The Signer's own options beside a list. One that is misspelt or misplaced is refused and never
//! guessed at: a dry run that nobody notices moves money.

use super::{Malformed, Object};
use billing::{Fields, Mode, RequestId};

/// The options, as they are spelt, and without capitals.
const OPTIONS: [(&str, &str); 3] =
    [("requestId", "requestid"), ("mode", "mode"), ("dryRun", DRY_RUN)];

const DRY_RUN: &str = "dryrun";

/// Names that the platform writes around a list and into its page, and the usual ones of other pages. Some are too near
/// an option to be told from a slip otherwise.
const PLATFORMS: [&str; 15] = [
    "code",
    "msg",
    "description",
    "data",
    "list",
    "count",
    "page",
    "size",
    "more",
    "total",
    "hasMore",
    "pages",
    "pageNum",
    "pageSize",
    "totalPages",
];

/// The usual names of an entry's fields: none of them is a slip.
const ENTRY_FIELDS: [&str; 11] = [
    "amount",
    "chainId",
    "currencySymbol",
    "period",
    "planId",
    "planVersion",
    "subscribeId",
    "subscriptionId",
    "tokenAddress",
    "userHash",
    "userWallet",
];

/// Other people's words for a dry run, in lower case and without marks.
const DRY_RUNS: [&str; 9] = [
    "dry",
    "simulate",
    "simulation",
    "simulateonly",
    "rehearse",
    "preview",
    "testrun",
    "checkonly",
    "validateonly",
];

#[derive(Default)]
pub(super) struct Options {
    pub(super) request_id: Option<RequestId>,
    pub(super) mode: Mode,
    pub(super) dry_run: bool,
}

/// Reads the options that stand beside `list` or `data`.
pub(super) fn read(top: &Object<'_>) -> Result<Options, Malformed> {
    for key in top.0.keys() {
        if let Some(meant) = meant(key).filter(|meant| meant != key) {
            return Err(Malformed::Option(format!("{key}: did you mean {meant}?")));
        }
    }
    let text = |key| top.0.get(key).map(|raw| serde_json::from_str::<String>(raw.get()));
    let request_id = match text("requestId") {
        None => None,
        Some(id) => {
            let id = id.ok().and_then(|id| RequestId::parse(&id).ok());
            let wrong = "requestId must be a string of 1 to 64 visible ASCII characters";
            Some(id.ok_or_else(|| Malformed::Option(wrong.to_owned()))?)
        }
    };
    let mode = match text("mode").map(Result::unwrap_or_default).as_deref() {
        None | Some("all") => Mode::All,
        Some("partial") => Mode::Partial,
        Some(_) => return Err(Malformed::Option("mode must be \"all\" or \"partial\"".to_owned())),
    };
    let dry_run = match top.0.get("dryRun").map(|raw| raw.get()) {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Malformed::Option("dryRun must be true or false".to_owned())),
    };
    Ok(Options { request_id, mode, dry_run })
}

/// Refuses what stands beside a caller's own list and is neither an option nor a name of the platform's page: an option
/// by another name would be ignored, and so would a dry run.
pub(super) fn nothing_else(top: &Object<'_>) -> Result<(), Malformed> {
    let known =
        |key: &str| PLATFORMS.contains(&key) || OPTIONS.iter().any(|(name, _)| *name == key);
    match top.0.keys().find(|key| !known(key)) {
        Some(key) => Err(Malformed::Option(format!(
            "{key}: there is no such option. Beside list stand requestId, mode and dryRun"
        ))),
        None => Ok(()),
    }
}

/// Refuses a list beside the platform's page, which has one of its own: neither is guessed to be the one that is meant.
pub(super) fn no_list_beside_data(top: &Object<'_>) -> Result<(), Malformed> {
    if top.0.contains_key("list") {
        let why = "list: there is data, too, with a list of its own. Post one of them";
        return Err(Malformed::Option(why.to_owned()));
    }
    Ok(())
}

/// Refuses options in the page of the platform's envelope, where none is read.
pub(super) fn none_in_page(page: &Object<'_>) -> Result<(), Malformed> {
    match page.0.keys().find_map(|key| Some((key, meant(key)?))) {
        Some((key, meant)) => Err(Malformed::Option(format!(
            "data.{key}: did you mean {meant}? Write it beside data"
        ))),
        None => Ok(()),
    }
}

/// Refuses a field of an entry that is `dryRun`, or nearly, since an entry has no options; and one that is nearly an
/// entry's own field, where that is not stated: the chain's terms would be charged in its place. Other fields may be
/// arguments of a contract, and so may a longer name (`periods`).
pub(super) fn check_field(field: &str, fields: &Fields) -> Result<(), String> {
    if ENTRY_FIELDS.contains(&field) {
        return Ok(());
    }
    let plain = plain(field);
    if near(&plain, DRY_RUN) {
        return Err(
            "did you mean dryRun? Write it beside the list: an entry has no options".to_owned()
        );
    }
    let slipped = |known: &str| {
        let known = known.to_ascii_lowercase();
        strsim::osa_distance(&plain, &known) <= 1 && (plain == known || !plain.starts_with(&known))
    };
    let meant = ENTRY_FIELDS.into_iter().find(|known| slipped(known));
    match meant.filter(|meant| !fields.contains_key(*meant)) {
        Some(meant) => Err(format!("did you mean {meant}?")),
        None => Ok(()),
    }
}

/// The option that a key is, or may have been meant to be.
fn meant(key: &str) -> Option<&'static str> {
    if PLATFORMS.contains(&key) {
        return None;
    }
    if let Some((option, _)) = OPTIONS.into_iter().find(|(option, _)| *option == key) {
        return Some(option);
    }
    let plain = plain(key);
    let named = OPTIONS.into_iter().find(|(_, option)| near(&plain, option));
    let named = named.map(|(option, _)| option);
    named.or_else(|| DRY_RUNS.contains(&plain.as_str()).then_some("dryRun"))
}

/// A name without capitals and marks.
fn plain(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns true if a plain name is a plain option's but for a slip or two, or has a dry run in it.
fn near(plain: &str, option: &str) -> bool {
    let slips = if option.len() > 4 { 2 } else { 1 };
    let slipped = || strsim::osa_distance(plain, option) <= slips;
    plain.len().abs_diff(option.len()) <= slips && slipped()
        || option == DRY_RUN && plain.contains(option)
}
