//! A profile as text, which a batch keeps: its transaction is read, and signed again, by the profile
//! that it was signed by, whatever is configured by then.

use super::Profile;
use billing::Family;
use config::BillingConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The part of the configuration that says what bytes mean. Durations are no part of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProfile {
    call: String,
    lookup: Option<String>,
    charged: Option<String>,
    skipped: Option<String>,
    constants: BTreeMap<String, String>,
    reasons: BTreeMap<String, String>,
    period: Option<String>,
}

/// The same text for the same profile.
pub(super) fn write(config: &BillingConfig) -> Arc<str> {
    let BillingConfig { call, lookup, charged, skipped, constants, reasons, period, .. } = config;
    let written = WrittenProfile {
        call: call.clone(),
        lookup: lookup.clone(),
        charged: charged.clone(),
        skipped: skipped.clone(),
        constants: constants.clone(),
        reasons: reasons.clone(),
        period: period.clone(),
    };
    // Only a map with keys that are no texts cannot be written.
    serde_json::to_string(&written).unwrap_or_default().into()
}

impl Profile {
    /// Returns the profile as written: the text that [`Profile::read`] reads.
    pub fn written(&self) -> &Arc<str> {
        &self.written
    }

    /// Reads what [`Profile::written`] gave to this or an earlier program; none where it cannot be read.
    pub fn read(text: &str, family: Family) -> Option<Self> {
        let WrittenProfile { call, lookup, charged, skipped, constants, reasons, period } =
            serde_json::from_str(text).ok()?;
        let (deadline, guard) = (Duration::ZERO, Duration::ZERO);
        let config = BillingConfig {
            call,
            lookup,
            charged,
            skipped,
            constants,
            reasons,
            period,
            deadline,
            guard,
        };
        Self::parse(&config, family).ok()
    }
}
