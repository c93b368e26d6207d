//! Chain parameters: what committees vote on, by the names that `getchainparameters` uses, and changeable at any time.

/// The values of the private chain on which the golden transcripts were recorded. A value of 0 is answered without a value.
const GOLDEN: [(&str, i64); 74] = [
    ("getMaintenanceTimeInterval", 21_600_000),
    ("getAccountUpgradeCost", 9_999_000_000),
    ("getCreateAccountFee", 100_000),
    ("getTransactionFee", 10),
    ("getAssetIssueFee", 1_024_000_000),
    ("getWitnessPayPerBlock", 32_000_000),
    ("getWitnessStandbyAllowance", 115_200_000_000),
    ("getCreateNewAccountFeeInSystemContract", 0),
    ("getCreateNewAccountBandwidthRate", 1),
    ("getAllowCreationOfContracts", 1),
    ("getRemoveThePowerOfTheGr", 0),
    ("getEnergyFee", 100),
    ("getExchangeCreateFee", 1_024_000_000),
    ("getMaxCpuTimeOfOneTx", 50),
    ("getAllowUpdateAccountName", 0),
    ("getAllowSameTokenName", 1),
    ("getAllowDelegateResource", 1),
    ("getTotalEnergyLimit", 50_000_000_000),
    ("getAllowTvmTransferTrc10", 1),
    ("getTotalEnergyCurrentLimit", 50_000_000_000),
    ("getAllowMultiSign", 1),
    ("getAllowAdaptiveEnergy", 0),
    ("getTotalEnergyTargetLimit", 3_472_222),
    ("getTotalEnergyAverageUsage", 0),
    ("getUpdateAccountPermissionFee", 100_000_000),
    ("getMultiSignFee", 1_000_000),
    ("getAllowAccountStateRoot", 0),
    ("getAllowProtoFilterNum", 0),
    ("getAllowTvmConstantinople", 1),
    ("getAllowTvmSolidity059", 1),
    ("getAllowTvmIstanbul", 1),
    ("getAllowShieldedTRC20Transaction", 0),
    ("getForbidTransferToContract", 0),
    ("getAdaptiveResourceLimitTargetRatio", 10),
    ("getAdaptiveResourceLimitMultiplier", 1000),
    ("getChangeDelegation", 1),
    ("getWitness127PayPerBlock", 16_000_000),
    ("getAllowMarketTransaction", 1),
    ("getMarketSellFee", 0),
    ("getMarketCancelFee", 0),
    ("getAllowPBFT", 0),
    ("getAllowTransactionFeePool", 0),
    ("getMaxFeeLimit", 1_000_000_000),
    ("getAllowOptimizeBlackHole", 1),
    ("getAllowNewResourceModel", 0),
    ("getAllowTvmFreeze", 0),
    ("getAllowTvmVote", 1),
    ("getAllowTvmLondon", 1),
    ("getAllowTvmCompatibleEvm", 1),
    ("getAllowAccountAssetOptimization", 1),
    ("getFreeNetLimit", 5000),
    ("getTotalNetLimit", 43_200_000_000),
    ("getAllowHigherLimitForMaxCpuTimeOfOneTx", 1),
    ("getAllowAssetOptimization", 1),
    ("getAllowNewReward", 1),
    ("getMemoFee", 1_000_000),
    ("getAllowDelegateOptimization", 1),
    ("getUnfreezeDelayDays", 14),
    ("getAllowOptimizedReturnValueOfChainId", 1),
    ("getAllowDynamicEnergy", 1),
    ("getDynamicEnergyThreshold", 5_000_000_000),
    ("getDynamicEnergyIncreaseFactor", 2000),
    ("getDynamicEnergyMaxFactor", 34_000),
    ("getAllowTvmShangHai", 1),
    ("getAllowCancelAllUnfreezeV2", 0),
    ("getMaxDelegateLockPeriod", 86_400),
    ("getAllowOldRewardOpt", 1),
    ("getAllowEnergyAdjustment", 1),
    ("getMaxCreateAccountTxSize", 1000),
    ("getAllowStrictMath", 1),
    ("getConsensusLogicOptimization", 1),
    ("getAllowTvmCancun", 1),
    ("getAllowTvmBlob", 1),
    ("getTotalSignNum", 5),
];

/// The parameters in force.
#[derive(Clone, Debug)]
pub struct Params {
    values: Vec<(String, i64)>,
}

impl Default for Params {
    fn default() -> Self {
        Self { values: GOLDEN.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect() }
    }
}

impl Params {
    /// A parameter by its name, 0 if there is none.
    pub fn get(&self, key: &str) -> i64 {
        self.values.iter().find(|(name, _)| name == key).map_or(0, |(_, value)| *value)
    }

    /// Sets a parameter; a new one is appended.
    pub fn set(&mut self, key: &str, value: i64) {
        match self.values.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.values.push((key.to_owned(), value)),
        }
    }

    /// Returns the parameters that `getchainparameters` lists, in its order.
    pub fn listed(&self) -> impl Iterator<Item = (&str, i64)> {
        self.values
            .iter()
            .filter(|(key, _)| key != "getTotalSignNum")
            .map(|(key, value)| (key.as_str(), *value))
    }

    /// A parameter that is never negative.
    pub fn unsigned(&self, key: &str) -> u64 {
        u64::try_from(self.get(key)).unwrap_or(0)
    }

    /// Sun per energy.
    pub fn energy_price(&self) -> u64 {
        self.unsigned("getEnergyFee")
    }

    /// Sun per byte of bandwidth.
    pub fn byte_price(&self) -> u64 {
        self.unsigned("getTransactionFee")
    }
}
