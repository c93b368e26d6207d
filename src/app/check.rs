//! `merchant-signer check`: everything that a billing needs, looked at before the first one.

use super::Machine;
use super::connect::{self, Connected};
use super::journal_place;
use super::lanes::Orphans;
use alloy::primitives::Address;
use billing::{PlatformChainId, spell_address};
use chain::{AccountHistory, Chain, Finding, Requests, Weight};
use config::{Config, HttpConfig, JournalConfig, NewWork};
use host::clock::Clock;
use journal::{
    Binding, Journal, JournalError, KnownLane, LaneId, Misbound, OpenError, backups_share_the_disk,
    mark_shares_the_disk,
};
use keys::OpenKeys;
use std::collections::BTreeMap;
use std::fmt;

/// The findings, as a table with one line for each thing looked at.
#[derive(Debug)]
pub struct CheckReport(Vec<(String, Finding)>);

impl CheckReport {
    /// Returns true if there is no fault.
    pub fn passed(&self) -> bool {
        self.count(Weight::Fault) == 0
    }

    /// Returns true if there is neither a fault nor a warning.
    pub fn passed_strictly(&self) -> bool {
        self.passed() && self.count(Weight::Warning) == 0
    }

    fn count(&self, weight: Weight) -> usize {
        self.0.iter().filter(|(_, finding)| finding.weight == weight).count()
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(place, _)| place.len()).max().unwrap_or(0);
        for (place, Finding { what, weight, message }) in &self.0 {
            let word = match weight {
                Weight::Fine => "ok",
                Weight::Warning => "WARN",
                Weight::Fault => "FAULT",
            };
            writeln!(f, "{word:<5}  {place:<width$}  {what:<18}  {message}")?;
        }
        f.write_str(if self.passed() { "ready to bill" } else { "not ready to bill" })?;
        match self.count(Weight::Warning) {
            0 => Ok(()),
            1 => f.write_str(", with one warning"),
            more => write!(f, ", with {more} warnings"),
        }
    }
}

/// Looks at keys, journal and every chain. The configuration is good, or there would be none.
pub async fn run(config: &Config, machine: Machine<'_>) -> CheckReport {
    let callers = format!("{} with a secret", config.callers.len());
    let seen = JournalSeen::of(config).await;
    let mut found = vec![
        ("config".to_owned(), Finding::fine("callers", callers)),
        ("journal".to_owned(), seen.file.clone()),
    ];
    found.extend(of_the_port(&config.http).map(|finding| ("config".to_owned(), finding)));
    let money = config.chains.iter().any(|chain| !chain.test);
    if money && mark_shares_the_disk(&config.journal) {
        let said = "is on the journal's own disk: a snapshot of it that is put back goes unnoticed; set \
                    journal.mark_path";
        found.push(("journal".to_owned(), Finding::warning("mark", said)));
    }
    let (split, told) = apart(config, machine.keys).await;
    found.push(("config".to_owned(), told));
    let machine = Machine { keys: split.as_deref().unwrap_or(machine.keys), ..machine };
    let mut chains = Vec::new();
    for chain in &config.chains {
        let place = format!("chains.{}", chain.platform_id);
        match connect::one(chain, &config.keys, machine).await {
            Ok(connected) => {
                let told = look_at(&connected, &seen).await;
                found.extend(told.into_iter().map(|finding| (place.clone(), finding)));
                chains.push(connected);
            }
            Err(faults) => {
                let told = faults.into_iter().map(|fault| Finding::fault("settings", fault));
                found.extend(told.map(|finding| (place.clone(), finding)));
            }
        }
    }
    let backups = config.journal.file().and_then(of_backups);
    found.extend(backups.map(|finding| ("journal".to_owned(), finding)));
    if chains.len() == config.chains.len() {
        let orphans = Orphans::among(&seen.known_lanes, &chains);
        let told = orphans.sentences().map(|said| Finding::fault("left open", said));
        found.extend(told.map(|finding| ("journal".to_owned(), finding)));
    }
    CheckReport(found)
}

/// Reports if others can read requests and answers.
fn of_the_port(http: &HttpConfig) -> impl Iterator<Item = Finding> {
    let in_the_clear = http.in_the_clear();
    let in_the_clear = in_the_clear.map(|said| Finding::warning("http.listen", said.to_owned()));
    let tls = http.tls.as_ref().map(|tls| {
        let trouble = tls.trouble(Clock::MACHINE.unix_ms().div_euclid(1000));
        let told = trouble.map(|said| Finding::warning("http.tls", said));
        told.unwrap_or_else(|| Finding::fine("http.tls", tls.to_string()))
    });
    in_the_clear.into_iter().chain(tls)
}

/// Reports if the backups would be lost with the journal's disk.
fn of_backups(file: &JournalConfig) -> Option<Finding> {
    let plan = file.backups.as_ref()?;
    let directory = plan.directory.display();
    Some(if !plan.directory.is_dir() {
        Finding::fault("backups", format!("journal.backup_dir: there is no directory {directory}"))
    } else if backups_share_the_disk(file, plan) {
        let said = format!(
            "journal.backup_dir: {directory} is on the disk of the journal, and lost with it: name a directory on \
             another one"
        );
        Finding::warning("backups", said)
    } else {
        Finding::fine("backups", directory.to_string())
    })
}

/// Starts the process that holds the keys, where there is one, and reports on it. Until the journal has a directory
/// none is started: its ceiling file, beside the journal, would have no place, and `init` makes that directory.
async fn apart(config: &Config, keys: &dyn OpenKeys) -> (Option<Box<dyn OpenKeys>>, Finding) {
    let directory = config.journal.file().and_then(|file| file.path.parent());
    let has_none = directory.is_some_and(|it| !it.as_os_str().is_empty() && !it.exists());
    if has_none && config.splits_keys() {
        let said = "their process is not looked at, as there is no journal yet";
        return (None, Finding::fine("keys", said));
    }
    match keys.split(config).await {
        Ok(split) => {
            let told = process_of_keys(split.as_deref());
            (split, told)
        }
        Err(why) => (None, Finding::fault("keys", why.to_string())),
    }
}

/// Reports which process holds the keys that are in memory.
fn process_of_keys(split: Option<&dyn OpenKeys>) -> Finding {
    let said = match split.and_then(OpenKeys::lacks) {
        None => "those that are in memory are in that of the Signer itself".to_owned(),
        Some([]) => "held by a process of their own, without files and network".to_owned(),
        Some(lacks) => {
            let said = format!("held by a process of their own; {}", lacks.join("; "));
            return Finding::warning("keys", said);
        }
    };
    Finding::fine("keys", said)
}

/// The findings that differ for each account of a chain.
const OF_ACCOUNTS: [&str; 4] =
    ["gas money", "permission to sign", "permission to bill", "delegation"];

/// Looks at a chain, and at what the journal has open on it.
async fn look_at(connected: &Connected, seen: &JournalSeen) -> Vec<Finding> {
    let (id, facts) = (connected.id(), connected.chain.facts());
    let accounts: Vec<Address> = connected.signers().map(|signer| signer.facts().signer).collect();
    let key = |account: &Address| {
        Finding::fine("key", format!("signs for {}", spell_address(facts.family, *account)))
    };
    let mut found: Vec<Finding> = accounts.iter().map(key).collect();
    for left in seen.known_lanes.iter().filter(|left| left.lane.chain == id && !left.is_done()) {
        if !accounts.contains(&left.lane.signer) {
            let account = spell_address(facts.family, left.lane.signer);
            let KnownLane { open, guarded, .. } = left;
            let why = connected.follows(left.lane.signer);
            let said = format!(
                "{open} open billings and {guarded} guarded charges of the account {account}: {why}"
            );
            found.push(Finding::warning("follows", said));
        }
    }
    if let Some(misbound) = seen.misbound(connected.chain.binding()).await {
        found.push(Finding::fault("network", misbound.to_string()));
    }
    let requests = Requests::of(facts, accounts.len());
    found.push(Finding::fine("requests", requests.to_string()));
    let naming = connected.chain.binding().naming;
    let guarded = connected.guarded_only();
    let guarded = guarded.map(|told| Finding::warning("periods", told.to_string()));
    let told_apart = || Finding::fine("periods", format!("told apart by {naming}"));
    found.push(guarded.unwrap_or_else(told_apart));
    found.extend(exposed(connected));
    let configured =
        (connected.config.new_work == NewWork::Paused).then(|| "by the configuration".to_owned());
    let paused = configured.or_else(|| seen.pauses.get(&id).cloned());
    found.extend(paused.map(|why| Finding::warning("paused", why)));
    if connected.config.new_work == NewWork::Retired {
        found.push(Finding::fine("retired", "nothing new is billed on it"));
    }
    let mut first: Option<Vec<Finding>> = None;
    for signer in connected.signers() {
        let told = signer.inspect().await;
        let account = spell_address(facts.family, signer.facts().signer);
        for one in &told {
            let is_its_own = OF_ACCOUNTS.contains(&one.what);
            // A finding that is the same for all accounts is reported once.
            let is_fault = one.weight == Weight::Fault;
            let news = first.as_ref().is_none_or(|first| is_fault && !first.contains(one));
            let named = accounts.len() > 1 && (is_its_own || first.is_some());
            if is_its_own || news {
                found.push(if named { of_account(one, &account) } else { one.clone() });
            }
        }
        found.extend(seen.unknown(id, signer.as_ref()).await);
        first.get_or_insert(told);
    }
    let weighed = |finding: Finding| {
        if connected.config.test { finding.without_money() } else { finding }
    };
    found.into_iter().map(weighed).collect()
}

/// Reports the limits on a stolen secret, and the exposure of the traffic to nodes.
fn exposed(connected: &Connected) -> Vec<Finding> {
    let (limits, is_open) = connected.chain.policy().describe();
    let policy = if is_open { Finding::warning } else { Finding::fine };
    let clear = connected.config.nodes_in_the_clear().into_iter().map(|node| {
        let said = format!(
            "{node}: whoever is on the way reads its API key and answers in its name: take https"
        );
        Finding::warning("in the clear", said)
    });
    [policy("policy", limits)].into_iter().chain(clear).collect()
}

/// The same, with the account that it is told of.
fn of_account(finding: &Finding, account: &str) -> Finding {
    if finding.message.contains(account) {
        return finding.clone();
    }
    Finding { message: format!("{} ({account})", finding.message), ..finding.clone() }
}

/// The contents of the journal. Only a running Signer knows the contents of the journal that it uses.
struct JournalSeen {
    journal: Option<Journal>,
    file: Finding,
    pauses: BTreeMap<PlatformChainId, String>,
    known_lanes: Vec<KnownLane>,
}

impl JournalSeen {
    async fn of(config: &Config) -> Self {
        let (place, what) = (&config.journal, config.journal.word());
        let unread =
            |file| Self { journal: None, file, pauses: BTreeMap::new(), known_lanes: vec![] };
        match journal_place::open(place) {
            Ok(journal) => match Self::read(config, journal).await {
                Ok(seen) => seen,
                Err(error) => unread(Finding::fault(what, error.to_string())),
            },
            Err(OpenError::Held(_)) => {
                unread(Finding::fine(what, format!("{place}, in use by a running Signer")))
            }
            Err(error) => unread(Finding::fault(what, error.to_string())),
        }
    }

    async fn read(config: &Config, journal: Journal) -> Result<Self, JournalError> {
        let all = config.chains.iter().map(|chain| chain.platform_id);
        let pauses =
            all.filter_map(|id| Some((id, journal.pauses().of(id)?.to_string()))).collect();
        let what = config.journal.word();
        let file = match journal.ready() {
            Ok(()) => Finding::fine(what, config.journal.to_string()),
            Err(error) => Finding::fault(what, error.to_string()),
        };
        let known_lanes = journal.known_lanes().await?;
        Ok(Self { journal: Some(journal), file, pauses, known_lanes })
    }

    /// Reports transactions of the account on the chain that the journal does not know of. If the chain has no
    /// count of an account's transactions, reports only that there are some, by the time the account was last used.
    async fn unknown(&self, id: PlatformChainId, chain: &dyn Chain) -> Option<Finding> {
        let journal = self.journal.as_ref()?;
        let (family, signer) = (chain.facts().family, chain.facts().signer);
        let (lane, account) = (LaneId { chain: id, signer }, spell_address(family, signer));
        let known = journal.lane(lane).next_position().await.ok()?;
        let nonces = chain.heads().borrow().and_then(|view| view.nonces);
        let more = if let Some(nonces) = nonces {
            let unknown = nonces.mined.saturating_sub(known.unwrap_or_default());
            (unknown > 0).then(|| format!("{unknown} transactions of the account {account} are"))?
        } else {
            let AccountHistory::Blocks(blocks) = chain.history() else { return None };
            let used_ms = i64::try_from(blocks.last_used().await.ok()??).ok()?;
            let known_ms = journal.lane(lane).known_until().await.ok()?.unwrap_or_default();
            let explained = used_ms < known_ms || self.has_open(lane);
            (!explained)
                .then(|| format!("the account {account} was used by transactions that are"))?
        };
        let said = format!("{more} not known to this journal");
        Some(if known.is_none() {
            let advice = "if it has billed before, put its journal back or import its claims, before the first \
                          start";
            Finding::warning("history", format!("{said}: {advice}"))
        } else {
            let advice = "what they charged is learnt from the chain after the start";
            Finding::fine("history", format!("{said}: {advice}"))
        })
    }

    fn has_open(&self, lane: LaneId) -> bool {
        self.known_lanes.iter().any(|left| left.lane == lane && left.open > 0)
    }

    /// Why the chain is not the one that the journal knows.
    async fn misbound(&self, binding: Binding) -> Option<Misbound> {
        self.journal.as_ref()?.misbound(binding).await.ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::BackupPlan;
    use std::time::Duration;

    #[test]
    fn backups_on_the_disk_of_the_journal_are_a_warning_and_a_directory_that_is_not_there_a_fault()
    {
        let room = tempfile::tempdir().unwrap();
        let shm = std::path::Path::new("/dev/shm");
        let file = |directory: &std::path::Path| JournalConfig {
            path: room.path().join("journal.sqlite"),
            mark_path: None,
            backups: Some(BackupPlan {
                directory: directory.to_owned(),
                every: Duration::from_hours(1),
                keep: 1,
            }),
            min_free_bytes: 1 << 20,
            queue_length: 1,
            keep_refusals: None,
        };
        for (directory, told) in [
            (room.path(), "WARN"),
            (shm, "ok"),
            (&room.path().join("nowhere"), "there is no directory"),
        ] {
            let found = of_backups(&file(directory)).unwrap();
            let said = CheckReport(vec![("journal".to_owned(), found)]).to_string();
            assert!(said.contains(told), "{said}");
        }
    }

    #[tokio::test]
    async fn the_process_of_the_keys_is_not_started_before_there_is_a_place_for_its_file() {
        let room = tempfile::tempdir().unwrap();
        let text = include_str!("../../crates/config/src/tests/local.toml");
        for (file, told) in [("data/a", "is not looked at"), ("a", "of the Signer itself")] {
            let file = format!("path = {:?}", room.path().join(file));
            let text = text.replace("path = \"data/local.sqlite\"", &file);
            let config = Config::from_toml(&text, &[]).unwrap();
            let (split, found) = apart(&config, &key_stores::KeyStores).await;
            assert!(split.is_none() && found.message.contains(told), "{found:?}");
        }
    }

    #[test]
    fn one_word_alone_and_open_limits_are_warnings_where_money_is() {
        let on = |test: bool| {
            let told = [
                Finding::warning("trust", "one provider"),
                Finding::warning("policy", "any fees"),
                Finding::warning("in the clear", "http://node.example"),
                Finding::fine("head", "block 7"),
            ];
            let weighed = |finding: Finding| {
                if test { finding.without_money() } else { finding }
            };
            let told = told.map(|finding| ("chains.7".to_owned(), weighed(finding)));
            CheckReport(told.into())
        };
        let (play, money) = (on(true), on(false));
        assert!(play.passed_strictly() && money.passed() && !money.passed_strictly());
        assert!(play.to_string().ends_with("ready to bill"), "{play}");
        let said = money.to_string();
        assert!(said.ends_with("ready to bill, with 3 warnings"), "{said}");
        assert!(said.lines().next().is_some_and(|line| line.starts_with("WARN ")), "{said}");
    }
}
