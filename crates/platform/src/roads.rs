//! Faults between two programs: on the way to the platform's API, to the Signer, and of callbacks to the merchant.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse as _, Response};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Duration of a slow answer.
const SLOW: Duration = Duration::from_secs(10);

/// A way from one program to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Road {
    /// Requests of the merchant to the platform.
    Api,
    /// Requests of the merchant to the Signer.
    Signer,
    /// Callbacks of the platform to the merchant.
    Callbacks,
}

/// A fault that befalls a call on a road.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It does not arrive, and HTTP 502 says so.
    Down,
    /// It is answered late.
    Slow,
    /// It arrives and is done, and the answer is lost.
    Lost,
    /// It arrives and is done, and the answer is another text.
    Garbled,
    /// It arrives two times.
    Twice,
}

/// All of them. Clones are the same roads.
#[derive(Clone, Debug, Default)]
pub struct Roads(Arc<Mutex<BTreeMap<Road, Fault>>>);

/// A mishap, and how often it is still to happen; `None`: until it is mended.
type Fault = (Mishap, Option<u64>);

impl Road {
    /// The road of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "api" => Self::Api,
            "signer" => Self::Signer,
            "callbacks" => Self::Callbacks,
            _ => return None,
        })
    }

    /// Returns the fault of this name that may happen on the road.
    pub(crate) fn mishap(self, name: &str) -> Result<Mishap, String> {
        let known = match self {
            Self::Api | Self::Signer => "down, slow, lost, garbled",
            Self::Callbacks => "down, lost, twice",
        };
        match (name, self) {
            ("down", _) => Ok(Mishap::Down),
            ("lost", _) => Ok(Mishap::Lost),
            ("slow", Self::Api | Self::Signer) => Ok(Mishap::Slow),
            ("garbled", Self::Api | Self::Signer) => Ok(Mishap::Garbled),
            ("twice", Self::Callbacks) => Ok(Mishap::Twice),
            _ => Err(format!("how is one of {known}")),
        }
    }
}

impl Roads {
    /// From now on this happens, so many times or until it is made well.
    pub fn break_down(&self, road: Road, mishap: Mishap, times: Option<u64>) {
        self.0.lock().insert(road, (mishap, times));
    }

    /// Makes a road well.
    pub fn mend(&self, road: Road) {
        self.0.lock().remove(&road);
    }

    /// Returns the fault that befalls the next call on the road.
    pub fn next(&self, road: Road) -> Option<Mishap> {
        let mut roads = self.0.lock();
        let (mishap, left) = roads.get_mut(&road)?;
        let mishap = *mishap;
        if let Some(left) = left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                roads.remove(&road);
            }
        }
        Some(mishap)
    }

    /// Puts the faults of a road before the router at its end.
    pub fn before(&self, road: Road, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state((self.clone(), road), travel))
    }
}

async fn travel(
    State((roads, road)): State<(Roads, Road)>,
    request: Request,
    next: Next,
) -> Response {
    match roads.next(road) {
        None | Some(Mishap::Twice) => next.run(request).await,
        Some(Mishap::Down) => (StatusCode::BAD_GATEWAY, "a fault of the sandbox").into_response(),
        Some(Mishap::Slow) => {
            let answer = next.run(request).await;
            tokio::time::sleep(SLOW).await;
            answer
        }
        Some(Mishap::Lost) => {
            drop(next.run(request).await);
            let cut = futures_util::stream::iter([Err::<&str, _>(std::io::Error::other("cut"))]);
            Body::from_stream(cut).into_response()
        }
        Some(Mishap::Garbled) => {
            drop(next.run(request).await);
            Html("<h1>502 Bad Gateway</h1>").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mishap_ends_after_so_many_times_or_when_it_is_mended() {
        let roads = Roads::default();
        roads.break_down(Road::Api, Mishap::Lost, Some(2));
        roads.break_down(Road::Signer, Mishap::Down, None);
        assert_eq!(
            [(); 3].map(|()| roads.next(Road::Api)),
            [Some(Mishap::Lost), Some(Mishap::Lost), None]
        );
        assert_eq!([(); 3].map(|()| roads.next(Road::Signer)), [Some(Mishap::Down); 3]);
        roads.mend(Road::Signer);
        assert_eq!(roads.next(Road::Signer), None);
        assert!(Road::Callbacks.mishap("slow").is_err() && Road::Api.mishap("twice").is_err());
    }
}
