//! The certificate of the port: taken anew when its files change, and told before it ends.

use host::clock::Clock;
use host::tls::{Renewal, Tls, Validity};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

/// Interval between two looks at the files.
const EVERY: Duration = Duration::from_secs(5);

/// Looks at the files until `stop`.
pub(super) async fn follow(tls: Arc<Tls>, stop: CancellationToken) {
    let mut looks = interval(EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut told = Validity::Good;
    while stop.run_until_cancelled(looks.tick()).await.is_some() {
        let now = Clock::MACHINE.unix_ms().div_euclid(1000);
        match tls.renew(now) {
            Renewal::Same => {}
            Renewal::Taken => info!("TLS: the files were changed: {tls}"),
            Renewal::Refused(why) => {
                error!("TLS: the files were changed, and are not used: {why}");
            }
        }
        let validity = tls.validity(now);
        if validity != told {
            told = validity;
            let trouble = tls.trouble(now).unwrap_or_default();
            match validity {
                Validity::Good => {}
                Validity::Ending => warn!("TLS: {trouble}"),
                Validity::Over => error!("TLS: {trouble}"),
            }
        }
    }
}
