//! Which lanes there are: one for each account that signs on a configured chain, and one for every other that
//! has signed on it. The journal decides that, so that nothing is open that nobody follows.

use super::StartError;
use super::connect::Connected;
use billing::{OnlyFollows, PeriodNaming, spell_address};
use chain::Chain;
use config::NewWork;
use engine::{ChainAccounts, Lane, LaneSet, LaneSettings, Role, SigningLanes, Watcher};
use journal::{Journal, KnownLane};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tracing::warn;

/// Every lane of a process, and who looks after it.
pub(super) struct Lanes {
    pub(super) set: LaneSet,
    pub(super) watchers: Vec<Watcher>,
}

/// Takes up everything that an earlier process left, of whichever account.
pub(super) async fn resume(chains: &[Connected], journal: &Journal) -> Result<Lanes, StartError> {
    for chain in chains {
        journal.bind(chain.chain.binding(), journal.now_ms()).await?;
        if let Some(told) = chain.guarded_only() {
            let (name, guard_s, unused) = (&chain.chain.facts().name, told.guard_s, told.unused());
            warn!(
                chain = name,
                guard_s,
                unused,
                "charges are guarded for a time alone: nothing names their period, and after it the same \
                 month is charged again"
            );
        }
    }
    let known = journal.known_lanes().await?;
    let orphans = Orphans::among(&known, chains);
    if !orphans.0.is_empty() {
        return Err(StartError::Orphans(orphans));
    }
    let mut all = Lanes { set: LaneSet::default(), watchers: Vec::new() };
    for chain in chains {
        let accounts = ChainAccounts::default();
        all.follow(chain, journal, &known, &accounts).await?;
        let first = all.sign(chain, &chain.chain, journal, &accounts).await?;
        let mut more = Vec::new();
        for signer in chain.signers().skip(1) {
            more.push(all.sign(chain, signer, journal, &accounts).await?);
        }
        all.set.of_chains.insert(chain.id(), SigningLanes::new(first, more));
    }
    journal.set_all_taken_up().await?;
    Ok(all)
}

impl Lanes {
    /// Makes the lane of an account that signs.
    async fn sign(
        &mut self,
        chain: &Connected,
        signer: &Arc<dyn Chain>,
        journal: &Journal,
        accounts: &ChainAccounts,
    ) -> Result<Arc<Lane>, StartError> {
        let signer = Arc::<dyn Chain>::clone(signer);
        let role = match chain.config.new_work {
            NewWork::Taken | NewWork::Paused => Role::Signs,
            NewWork::Retired => Role::Follows(OnlyFollows::RetiredChain),
        };
        let lane = Lane::new(signer, journal.clone(), chain.lane_settings(role), accounts);
        self.watched(lane, chain).await
    }

    /// Makes the lanes of all other accounts that have signed on a chain, or whose retired keys are
    /// configured: the journal may be a copy that has forgotten what they did, or that there are any.
    async fn follow(
        &mut self,
        chain: &Connected,
        journal: &Journal,
        known: &[KnownLane],
        accounts: &ChainAccounts,
    ) -> Result<(), StartError> {
        let of_chain = known.iter().filter(|known| known.lane.chain == chain.id());
        let mut others: BTreeMap<_, _> =
            chain.retired_accounts().map(|account| (account, None)).collect();
        others.extend(of_chain.map(|known| (known.lane.signer, Some(known))));
        for signer in chain.signers() {
            others.remove(&signer.facts().signer);
        }
        for (account, known) in others {
            let (adapter, why) = chain.follower(account).await?;
            let left = known.filter(|known| !known.is_done());
            let role = if left.is_some() { Role::Follows(why) } else { Role::Observes(why) };
            let lane = Lane::new(adapter, journal.clone(), chain.lane_settings(role), accounts);
            if let Some(KnownLane { open, guarded, .. }) = left {
                let (chain, account) = (&lane.chain.facts().name, lane.account());
                warn!(chain, account, open, guarded, "following the account: {why}");
            }
            let lane = self.watched(lane, chain).await?;
            self.set.followers.push(lane);
        }
        Ok(())
    }

    async fn watched(&mut self, lane: Lane, chain: &Connected) -> Result<Arc<Lane>, StartError> {
        let lane = Arc::new(lane);
        lane.resume().await?;
        let every = chain.config.family.poll_interval();
        self.watchers.push(Watcher { lane: Arc::clone(&lane), every });
        Ok(lane)
    }
}

/// The open billings and guarded charges of the journal on chains that are not configured.
#[derive(Debug)]
pub struct Orphans(Vec<KnownLane>);

impl Orphans {
    /// Those of `known` that none of `chains` would follow.
    pub(super) fn among(known: &[KnownLane], chains: &[Connected]) -> Self {
        let followed = |left: &KnownLane| chains.iter().any(|chain| chain.id() == left.lane.chain);
        let due = |left: &KnownLane| left.open > 0 || left.guarded > 0;
        let orphans = known.iter().filter(|left| due(left) && !followed(left));
        Self(orphans.copied().collect())
    }

    /// One sentence for each.
    pub(super) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|left| {
            let KnownLane { lane, network, open, guarded, .. } = left;
            let signer = spell_address(network.family, lane.signer);
            format!(
                "the journal has {open} open billings and {guarded} guarded charges of the account \
                 {signer} on {network}, and no [chains.{}] is configured to follow them: put the \
                 section back, with `retired = true` if nothing new is to be billed there",
                lane.chain
            )
        })
    }
}

impl fmt::Display for Orphans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().collect::<Vec<_>>().join("\n"))
    }
}

impl Connected {
    fn lane_settings(&self, role: Role) -> LaneSettings {
        let gas_warn_billings = self.config.gas_warn_billings;
        let chain_bills = self.config.new_work != NewWork::Retired;
        let (rules, guard) = (self.rules, self.guard());
        LaneSettings { role, rules, guard, gas_warn_billings, chain_bills }
    }

    fn guard(&self) -> std::time::Duration {
        self.config.family.billing().guard
    }

    /// Returns the guard of charges that no period tells apart; none if a period does.
    pub(super) fn guarded_only(&self) -> Option<GuardedOnly<'_>> {
        let profile = self.chain.profile();
        let (unused, guard_s) = (profile.unused_periods(), self.guard().as_secs());
        (profile.period_naming() == PeriodNaming::Guard).then_some(GuardedOnly { guard_s, unused })
    }
}

/// Charges that nothing but a time keeps from being repeated.
pub(super) struct GuardedOnly<'a> {
    guard_s: u64,
    /// Fields that look like a period.
    unused: Vec<&'a str>,
}

impl GuardedOnly<'_> {
    fn unused(&self) -> String {
        self.unused.join(", ")
    }
}

impl fmt::Display for GuardedOnly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "charges are guarded for {} s after they are final, and not for ever: neither call nor lookup has \
             a field `period`",
            self.guard_s
        )?;
        if self.unused.is_empty() {
            return Ok(());
        }
        write!(f, "; {} looks like one: billing.period says which field it is", self.unused())
    }
}
