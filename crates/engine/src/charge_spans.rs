//! The spans of a charge beyond its request.

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing::field::Empty;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The target of the spans of charges, which are for OpenTelemetry alone: no log line names them.
pub const SPAN_TARGET: &str = "charge";

/// Returns a span that begins now, for a batch until the chain has decided it. The span is in the trace of the current
/// request, and in one of its own where there is none, since another process took the request.
pub(super) fn settlement() -> Span {
    let request = Span::current().context().span().span_context().clone();
    // As a child of the request's own span it would keep that span open.
    let span = info_span!(
        target: SPAN_TARGET, parent: None, "settlement", signer.state = Empty, signer.block = Empty, tx.hash = Empty
    );
    if request.is_valid() {
        drop(span.set_parent(Context::new().with_remote_span_context(request)));
    }
    span
}
