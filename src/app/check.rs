//! `merchant-signer check`: everything that a billing needs, looked at before the first one.

use super::connect;
use crate::billing::{PlatformChainId, spell_address};
use crate::chain::Finding;
use crate::clock::Clock;
use crate::config::Config;
use crate::journal::{Journal, OpenError};
use crate::node::Dial;
use std::collections::BTreeMap;
use std::fmt;

/// What was found, as a table with one line for each thing looked at.
#[derive(Debug)]
pub struct Report(Vec<(String, Finding)>);

impl Report {
    /// Whether nothing stands in the way.
    pub fn passed(&self) -> bool {
        !self.0.iter().any(|(_, finding)| finding.fault)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(place, _)| place.len()).max().unwrap_or(0);
        for (place, Finding { what, fault, said }) in &self.0 {
            let word = if *fault { "FAULT" } else { "ok" };
            writeln!(f, "{word:<5}  {place:<width$}  {what:<18}  {said}")?;
        }
        f.write_str(if self.passed() { "ready to bill" } else { "not ready to bill" })
    }
}

/// Looks at keys, journal and every chain. The configuration is good, or there would be none.
pub async fn run(config: &Config, dial: &dyn Dial) -> Report {
    let callers = format!("{} with a secret", config.callers.len());
    let (journal, pauses) = journal(config);
    let mut found = vec![
        ("config".to_owned(), Finding::fine("callers", callers)),
        ("journal".to_owned(), journal),
    ];
    for chain in &config.chains {
        let place = format!("chains.{}", chain.platform_id);
        match connect::one(chain, &config.keys, dial, Clock::MACHINE).await {
            Ok(connected) => {
                let facts = connected.chain.facts();
                let signer = spell_address(facts.family, facts.signer);
                let key = Finding::fine("key", format!("signs for {signer}"));
                found.push((place.clone(), key));
                let (limits, _) = connected.chain.policy().describe();
                found.push((place.clone(), Finding::fine("policy", limits)));
                let configured = chain.paused.then(|| "by the configuration".to_owned());
                let paused = configured.or_else(|| pauses.get(&chain.platform_id).cloned());
                found.extend(paused.map(|why| (place.clone(), Finding::fine("paused", why))));
                let seen = connected.chain.inspect().await;
                found.extend(seen.into_iter().map(|finding| (place.clone(), finding)));
            }
            Err(faults) => {
                let told = faults.into_iter().map(|fault| Finding::fault("settings", fault));
                found.extend(told.map(|finding| (place.clone(), finding)));
            }
        }
    }
    Report(found)
}

/// The journal, and the chains that are paused in it. A running Signer alone knows of its own.
fn journal(config: &Config) -> (Finding, BTreeMap<PlatformChainId, String>) {
    let path = config.journal.path.display();
    let found = match Journal::open(&config.journal) {
        Ok(journal) => {
            let all = config.chains.iter().map(|chain| chain.platform_id);
            let pauses = all.filter_map(|id| Some((id, journal.paused(id)?.to_string()))).collect();
            return match journal.ready() {
                Ok(()) => (Finding::fine("file", path.to_string()), pauses),
                Err(error) => (Finding::fault("file", error.to_string()), pauses),
            };
        }
        Err(OpenError::Held(_)) => {
            Finding::fine("file", format!("{path}, in use by a running Signer"))
        }
        Err(error) => Finding::fault("file", error.to_string()),
    };
    (found, BTreeMap::new())
}
