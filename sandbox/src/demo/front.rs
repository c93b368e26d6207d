//! The Signer's address: whatever comes in is passed on to it as it came, unless something happens on the way.

use super::{Error, doors};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use reqwest::Client;
use sandbox_platform::Platform;
use sandbox_platform::roads::Road;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// The longest body that is passed on (bytes): more than the Signer takes.
const LONGEST: usize = 8 * 1024 * 1024;

/// Headers that belong to one connection and not to the message on it.
const OF_A_CONNECTION: [header::HeaderName; 4] =
    [header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::UPGRADE];

/// Serves at `listener` what the Signer at `to` serves.
pub(super) fn serve(
    listener: TcpListener,
    to: SocketAddr,
    platform: &Platform,
) -> Result<(), Error> {
    let client =
        Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build()?;
    let router = Router::new().fallback(pass_on).with_state((client, to));
    doors::serve(listener, platform.roads().before(Road::Signer, router));
    Ok(())
}

async fn pass_on(State((client, to)): State<(Client, SocketAddr)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Ok(body) = to_bytes(body, LONGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = client.request(parts.method, format!("http://{to}{path}"));
    match asked.headers(passed(&parts.headers)).body(body).send().await {
        Ok(answer) => {
            let (status, headers) = (answer.status(), passed(answer.headers()));
            match answer.bytes().await {
                Ok(body) => (status, headers, Body::from(body)).into_response(),
                Err(why) => (StatusCode::BAD_GATEWAY, why.to_string()).into_response(),
            }
        }
        Err(why) => (StatusCode::BAD_GATEWAY, why.to_string()).into_response(),
    }
}

fn passed(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    for name in OF_A_CONNECTION {
        passed.remove(name);
    }
    passed
}
