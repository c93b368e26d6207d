//! The Signers that share a journal, as readiness tells of them.

use journal::Instance;
use serde_json::{Value, json};

/// All of them.
pub(super) fn shown(instances: &[Instance]) -> Value {
    let one = |instance: &Instance| {
        json!({
            "name": instance.name,
            "start": instance.start,
            "version": instance.program,
            "state": state(instance),
            "this": instance.is_this,
            "silentSeconds": instance.silent.as_secs(),
            "clock": instance.clock_trouble().unwrap_or_else(|| "ok".to_owned()),
            "unfit": instance.unfit,
            "differs": instance.differs,
        })
    };
    instances.iter().map(one).collect()
}

/// Returns the state of an instance.
pub(super) fn state(instance: &Instance) -> &'static str {
    if instance.serves { "serves" } else { "standby" }
}
