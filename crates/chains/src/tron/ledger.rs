//! TRON's data per account and contract beside balance, code and storage: permissions, bandwidth, energy, stake.

use super::params::Params;
use revm::primitives::Address;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Slots of 3 s in a day: the time in which used bandwidth and energy come back.
pub const WINDOW: u64 = 28_800;

/// Everything beside the machine's state; part of every block's state, so that a fork takes it back.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    accounts: BTreeMap<Address, Arc<Account>>,
    contracts: BTreeMap<Address, Arc<Deployed>>,
    /// Maintenance periods so far.
    pub cycle: u64,
}

/// An activated account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// When it was activated (ms); None for a genesis account.
    pub created_ms: Option<u64>,
    /// Time of the parent block (ms) at its last operation.
    pub operated_ms: u64,
    /// Name, if it has one; contracts do.
    pub name: String,
    /// True if the account is a contract's.
    pub is_contract: bool,
    /// Free bandwidth used (bytes).
    pub free_net: Usage,
    /// Staked bandwidth used (bytes).
    pub net: Usage,
    /// Staked energy used.
    pub energy: Usage,
    /// Sun staked for bandwidth.
    pub net_stake: u64,
    /// Sun staked for energy.
    pub energy_stake: u64,
    /// The owner permission, if it is not the account itself alone.
    pub owner: Option<Permission>,
    /// Active permissions, ids from 2.
    pub active: Vec<Permission>,
}

/// Something used that comes back within [`WINDOW`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// As of `at_ms`.
    pub used: u64,
    /// The head's time (ms) when it was last used.
    pub at_ms: u64,
}

/// The right to sign for an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permission {
    /// Keys and their weights.
    pub keys: Vec<(Address, u64)>,
    /// The weight that signatures must reach.
    pub threshold: u64,
}

/// A deployed contract.
#[derive(Clone, Debug, Default)]
pub struct Deployed {
    /// The account that deployed the contract.
    pub origin: Address,
    /// The caller's share of the energy (percent).
    pub percent: u64,
    /// The deployer's ceiling per call (energy).
    pub origin_energy_limit: u64,
    /// Name.
    pub name: String,
    /// Creation code.
    pub bytecode: Vec<u8>,
    /// The dynamic energy state.
    pub heat: Heat,
}

/// The recent use of a contract, and what that use adds to the contract's price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// Base energy used in `cycle`.
    pub usage: u64,
    /// Ten-thousandths on top of every cost.
    pub factor: u64,
    /// The maintenance period of `usage`.
    pub cycle: u64,
}

impl Permission {
    /// One key that is enough.
    pub fn of(address: Address) -> Self {
        Self { keys: vec![(address, 1)], threshold: 1 }
    }
}

impl Usage {
    /// Returns the amount that is still counted as used at `now_ms`.
    pub fn left_at(&self, now_ms: u64) -> u64 {
        self.with(0, now_ms).used
    }

    /// The same after using `more` at `now_ms`. Rounds as java-tron does: by averages in millionths.
    #[must_use]
    pub fn with(&self, more: u64, now_ms: u64) -> Self {
        const PRECISION: u64 = 1_000_000;
        let mut average = (self.used * PRECISION).div_ceil(WINDOW);
        let passed = now_ms.saturating_sub(self.at_ms) / 3000;
        if passed >= WINDOW {
            average = 0;
        } else if passed > 0 {
            average = (average * (WINDOW - passed) + WINDOW / 2) / WINDOW;
        }
        let used = (average + (more * PRECISION).div_ceil(WINDOW)) * WINDOW / PRECISION;
        Self { used, at_ms: now_ms }
    }
}

impl Heat {
    /// The state at `cycle`: one step up if the period before was hot, then a quarter step down per quiet period.
    #[must_use]
    pub fn at(&self, cycle: u64, params: &Params) -> Self {
        const BASE: u64 = 10_000;
        let step = params.unsigned("getDynamicEnergyIncreaseFactor");
        let most = params.unsigned("getDynamicEnergyMaxFactor");
        let mut now = *self;
        if now.cycle < cycle && now.usage >= params.unsigned("getDynamicEnergyThreshold") {
            now.factor = ((BASE + now.factor) * (BASE + step) / BASE - BASE).min(most);
            now.cycle += 1;
            now.usage = 0;
        }
        while now.cycle < cycle {
            now.factor = ((BASE + now.factor) * (BASE - step / 4) / BASE).saturating_sub(BASE);
            now.usage = 0;
            now.cycle = if now.factor == 0 { cycle } else { now.cycle + 1 };
        }
        now
    }
}

impl Ledger {
    /// The account at an address, if it is activated.
    pub fn account(&self, address: &Address) -> Option<&Account> {
        self.accounts.get(address).map(Arc::as_ref)
    }

    /// The same for writing; activates it if it is not.
    pub fn account_mut(&mut self, address: Address) -> &mut Account {
        Arc::make_mut(self.accounts.entry(address).or_default())
    }

    /// Activates an account as a transfer does: with an owner and an active permission.
    pub fn activate(&mut self, address: Address, now_ms: u64) {
        let own = Permission::of(address);
        let account = self.account_mut(address);
        account.created_ms = Some(now_ms);
        account.owner = Some(own.clone());
        account.active = vec![own];
    }

    /// The contract at an address.
    pub fn contract(&self, address: &Address) -> Option<&Deployed> {
        self.contracts.get(address).map(Arc::as_ref)
    }

    /// The same for writing, made if it is not there.
    pub fn contract_mut(&mut self, address: Address) -> &mut Deployed {
        Arc::make_mut(self.contracts.entry(address).or_default())
    }

    /// All contracts.
    pub fn contracts(&self) -> impl Iterator<Item = (&Address, &Deployed)> {
        self.contracts.iter().map(|(address, deployed)| (address, deployed.as_ref()))
    }

    /// The permission that a transaction names, if the account has it. An account that does not exist has its own key.
    pub fn permission(&self, owner: &Address, id: i32) -> Option<Permission> {
        let account = self.account(owner);
        if id == 0 {
            let own = account.and_then(|account| account.owner.clone());
            return Some(own.unwrap_or_else(|| Permission::of(*owner)));
        }
        let index = usize::try_from(id).ok()?.checked_sub(2)?;
        account?.active.get(index).cloned()
    }

    /// All sun staked for bandwidth and for energy.
    pub fn stakes(&self) -> (u64, u64) {
        self.accounts.values().fold((0, 0), |(net, energy), account| {
            (net + account.net_stake, energy + account.energy_stake)
        })
    }

    /// The share of `total` that `stake` sun of `all` gives.
    pub fn share(stake: u64, all: u64, total: u64) -> u64 {
        let (trx, all) = (u128::from(stake / 1_000_000), u128::from(all / 1_000_000));
        u64::try_from((trx * u128::from(total)).checked_div(all).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Bandwidth (bytes per day) that an account's stake gives.
    pub fn net_limit(&self, address: &Address, params: &Params) -> u64 {
        let stake = self.account(address).map_or(0, |account| account.net_stake);
        Self::share(stake, self.stakes().0, params.unsigned("getTotalNetLimit"))
    }

    /// Energy per day that an account's stake gives.
    pub fn energy_limit(&self, address: &Address, params: &Params) -> u64 {
        let stake = self.account(address).map_or(0, |account| account.energy_stake);
        Self::share(stake, self.stakes().1, params.unsigned("getTotalEnergyCurrentLimit"))
    }

    /// Staked energy that an account has left at `now_ms`.
    pub fn energy_left(&self, address: &Address, params: &Params, now_ms: u64) -> u64 {
        let used = self.account(address).map_or(0, |account| account.energy.left_at(now_ms));
        self.energy_limit(address, params).saturating_sub(used)
    }
}
