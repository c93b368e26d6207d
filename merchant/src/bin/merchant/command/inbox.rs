//! `merchant inbox`.

use super::Context;
use super::schedule::start_logging;
use crate::output::Failure;
use crate::settings::missing;
use merchant::clock::SystemClock;
use merchant::inbox::{InboxConnections, InboxOptions};
use std::sync::Arc;

pub(crate) async fn run(mut options: InboxOptions, context: &Context) -> Result<(), Failure> {
    let settings = &context.settings;
    options.clock = options.clock.or_else(|| settings.clock().cloned());
    let known = settings.inbox().ok_or_else(|| missing("inbox"))?;
    let connections = InboxConnections {
        receiver: settings.receiver(Arc::new(SystemClock))?,
        private: known.credentials.clone(),
        signer: if settings.has_signer() { Some(settings.signer()?) } else { None },
        platform: Some(settings.client()?),
        onward: known.onward.clone(),
    };
    start_logging();
    merchant::inbox::inbox(options, connections).await.map_err(|error| Failure::Known(error.into()))
}
