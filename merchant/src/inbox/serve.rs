//! Connections and bodies at both doors: treated by the Signer's own rules (crate `door`), with room of its own for
//! each.

use crate::callback::web::presented;
use crate::clock::{Clock as _, SystemClock};
use crate::sign::{SignatureError, judge_head};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use door::{Connection, ConnectionPolicy, NotRead, PendingBodies};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Longest time that a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections at once, and of one address: a proxy in front is one.
const POLICY: ConnectionPolicy = ConnectionPolicy {
    connections: 512,
    of_one: 512,
    header_timeout: Duration::from_secs(10),
    write_timeout: Duration::from_secs(10),
    lifetime: Duration::from_mins(5),
};

/// Serves `router` for ever.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let connection_policy = POLICY.within_descriptors();
    door::serve(listener, router, connection_policy, None, CancellationToken::new()).await;
}

/// The reception of the bodies of one door.
#[derive(Clone, Debug)]
pub(super) struct Reception {
    bodies: Arc<PendingBodies>,
    longest: usize,
    /// Name of the callers who prove themselves at this door.
    callers: &'static str,
    /// The answer to a head that proves nothing.
    refuse: fn(&SignatureError) -> Response,
}

impl Reception {
    /// For bodies of up to `longest` bytes, of callers with this name.
    pub(super) fn new(
        longest: usize,
        callers: &'static str,
        refuse: fn(&SignatureError) -> Response,
    ) -> Self {
        let bodies = Arc::new(PendingBodies::new(longest, TaskTracker::new()));
        Self { bodies, longest, callers, refuse }
    }

    /// Lets a request reach these routes only if its head has the form of a signed one and its body is whole. A
    /// caller who hears that a request was taken has proven itself.
    pub(super) fn before(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), receive))
    }

    /// The body, and of one that is not taken the reason.
    async fn read(&self, body: Body, connection: Option<&Connection>) -> Result<Bytes, Response> {
        let now = Instant::now();
        let deadline = now.checked_add(BODY_TIMEOUT).unwrap_or(now);
        self.bodies.read(body, self.longest, deadline, connection).await.map_err(|why| {
            let status = match why {
                NotRead::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                NotRead::Unreadable => StatusCode::BAD_REQUEST,
                NotRead::Slow => StatusCode::REQUEST_TIMEOUT,
                NotRead::Evicted(_) => StatusCode::TOO_MANY_REQUESTS,
            };
            (status, why.to_string()).into_response()
        })
    }
}

async fn receive(State(reception): State<Reception>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let connection = head.extensions.get::<Connection>().cloned();
    if let Err(why) = judge_head(&presented(&head.headers), SystemClock.now()) {
        reception.bodies.discard(body);
        return (reception.refuse)(&why);
    }
    let body = match reception.read(body, connection.as_ref()).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    // The request is at work from here on, and takes as long as the store does.
    let _busy = connection.as_ref().map(Connection::mark_busy);
    let answer = next.run(Request::from_parts(head, body.into())).await;
    if answer.status().is_success() {
        drop(connection.map(|connection| connection.begin_work(reception.callers, 1)));
    }
    answer
}
