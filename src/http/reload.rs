//! `POST /PayTool/control/reload`: the configuration, read again. The settings that can change while the Signer
//! runs are taken up as a whole, or nothing is.

use super::AppState;
use super::answer::{HttpReply, envelope};
use super::control::{Instruction, controlled, of_all_chains, which};
use super::guard::Purpose;
use super::turned_away::TurnedAway;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Somebody wants the configuration to be read again.
#[derive(Debug)]
pub struct ReloadRequest {
    /// Name of the requester.
    pub by: String,
    /// Hears which keys were changed, or every reason why none was.
    pub told: oneshot::Sender<Result<Vec<String>, String>>,
}

/// The answer to a reload.
#[derive(Debug, Deserialize, Serialize)]
pub struct Reloaded {
    /// The keys that have other values now.
    pub changed: Vec<String>,
}

/// `POST /PayTool/control/reload`
pub(super) async fn reload(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let reload = async move |door: Arc<AppState>, sent| begin(&door, sent).await;
    controlled(door, request, Purpose::Control, reload).await
}

async fn begin(door: &AppState, sent: Instruction) -> Result<Response, HttpReply> {
    if which(&sent).map_err(HttpReply::TurnedAway)?.chain_id.is_some() {
        let why = "the configuration is taken up for all chains".to_owned();
        return Err(HttpReply::TurnedAway(TurnedAway::Control(why)));
    }
    of_all_chains(door, &sent).map_err(HttpReply::TurnedAway)?;
    let (tell, told) = oneshot::channel();
    let asked = ReloadRequest { by: sent.by.label.clone(), told: tell };
    // Nobody reads them where the process cannot reload.
    let heard = match door.reloads.send(asked).await {
        Ok(()) => told.await.ok(),
        Err(mpsc::error::SendError(_)) => None,
    };
    Ok(match heard {
        Some(Ok(changed)) => {
            envelope(StatusCode::OK, 1, "success".to_owned(), Reloaded { changed })
        }
        Some(Err(why)) => envelope(StatusCode::CONFLICT, 0, why, ()),
        None => {
            let why = "this Signer cannot take up another configuration: restart it".to_owned();
            envelope(StatusCode::CONFLICT, 0, why, ())
        }
    })
}
