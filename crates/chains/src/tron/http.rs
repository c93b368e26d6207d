//! The HTTP API of a node, one request at a time: port, method, path and body to status and body.

mod accounts;
mod broadcast;
mod calls;
mod reads;
mod request;

use super::calls::Side;
use super::node::TronNode;
use crate::faults::Fault;
pub(super) use request::{Request, lenient};
use serde_json::{Value, json};

/// The four doors of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// `/wallet`.
    Full,
    /// `/walletsolidity`.
    Solidity,
    /// `/jsonrpc`.
    JsonRpc,
    /// `/jsonrpc` over the solid state.
    JsonRpcSolidity,
}

/// The node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Content type.
    pub content_type: &'static str,
    /// Body.
    pub body: String,
}

/// The end of a request on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// With an answer.
    Answer(Reply),
    /// Never.
    Silence,
    /// With a closed connection.
    Closed,
}

const JSON: &str = "application/json;charset=utf-8";
const HTML: &str = "text/html;charset=iso-8859-1";

impl Reply {
    /// JSON with status 200.
    pub fn json(value: &Value) -> Self {
        Self { status: 200, content_type: JSON, body: value.to_string() }
    }

    fn page(status: u16, title: &str, path: &str) -> Self {
        let body = format!(
            "<html>\n<head>\n<title>Error {status} {title}</title>\n</head>\n<body><h2>HTTP ERROR {status} {title}</h2>\n\
             <table>\n<tr><th>URI:</th><td>{path}</td></tr>\n</table>\n</body>\n</html>\n"
        );
        Self { status, content_type: HTML, body }
    }
}

impl TronNode {
    /// Answers a request, or lets the fault happen that waits for it.
    pub fn serve_one(&self, port: Port, method: &str, path: &str, body: &str) -> Wire {
        let act = || self.answer(port, method, path, body);
        match self.faults().next(path) {
            None => Wire::Answer(act()),
            Some(Fault::ActThenHang) => {
                act();
                Wire::Silence
            }
            Some(Fault::ActThenReset) => {
                act();
                Wire::Closed
            }
            Some(Fault::Hang) => Wire::Silence,
            Some(Fault::Reset) => Wire::Closed,
            Some(Fault::ActTwice) => {
                act();
                Wire::Answer(act())
            }
            Some(Fault::ActThenDrop) => {
                let before: Vec<_> =
                    self.node().chain().pool().iter().map(|pending| pending.id).collect();
                let reply = act();
                self.node().chain().pool_mut().retain(|pending| before.contains(&pending.id));
                Wire::Answer(reply)
            }
            Some(Fault::ActThenTruncate) => {
                let mut reply = act();
                reply.body.truncate(reply.body.len() / 2);
                Wire::Answer(reply)
            }
            Some(Fault::ActThenHtml) => {
                act();
                Wire::Answer(Reply::page(200, "please wait", path))
            }
            Some(fault) => Wire::Answer(self.disturbed(&fault, port, method, path, body)),
        }
    }

    fn disturbed(&self, fault: &Fault, port: Port, method: &str, path: &str, body: &str) -> Reply {
        let known = |text: &str| Reply { status: 200, content_type: JSON, body: text.to_owned() };
        match fault {
            Fault::RateLimit => known(
                r#"{"Error":"class java.lang.IllegalAccessException : lack of computing resources"}"#,
            ),
            Fault::Status { status, body } => {
                Reply { status: *status, content_type: JSON, body: body.clone() }
            }
            Fault::Lite => known("this API is closed because this node is a lite fullnode"),
            Fault::NoInfo if path.ends_with("byblocknum") => known("[]"),
            Fault::NoInfo => known("{}"),
            Fault::Refuse { code, message } => broadcast::refused(path, body, code, message),
            Fault::PoolButNotRelay => {
                self.answer(port, method, path, body);
                broadcast::refused(
                    path,
                    body,
                    "NOT_ENOUGH_EFFECTIVE_CONNECTION",
                    "P2P broadcast failed.",
                )
            }
            Fault::Lag(blocks) => {
                self.answer_with(port, method, path, &Request::new(body).lagging(*blocks))
            }
            Fault::CpuTimeout => {
                self.answer_with(port, method, path, &Request::new(body).out_of_time())
            }
            Fault::ActThenHang
            | Fault::ActThenReset
            | Fault::Hang
            | Fault::Reset
            | Fault::ActTwice
            | Fault::ActThenDrop
            | Fault::ActThenTruncate
            | Fault::ActThenHtml => self.answer(port, method, path, body),
        }
    }

    /// Answers a request as the node would.
    pub fn answer(&self, port: Port, method: &str, path: &str, body: &str) -> Reply {
        self.answer_with(port, method, path, &Request::new(body))
    }

    fn answer_with(&self, port: Port, method: &str, path: &str, request: &Request) -> Reply {
        let (side, prefix) = match port {
            Port::Full => (Side::Full, "/wallet/"),
            Port::Solidity => (Side::Solid, "/walletsolidity/"),
            Port::JsonRpc => return self.rpc(Side::Full, path, request),
            Port::JsonRpcSolidity => return self.rpc(Side::Solid, path, request),
        };
        let name = path.strip_prefix(prefix).unwrap_or_default();
        let known = POSTS.contains(&name) && (side == Side::Full || SOLID.contains(&name));
        if self.options().disabled.contains(name) {
            let body = json!({"Error": "this API is unavailable due to config"}).to_string();
            return Reply { status: 404, content_type: JSON, body };
        }
        match (method, known) {
            ("GET", false) => return Reply::page(404, "Not Found", path),
            ("GET", true) if name.starts_with("broadcast") => {
                return Reply::page(405, "HTTP method GET is not supported by this URL", path);
            }
            (_, false) => {
                return Reply::page(405, "HTTP method POST is not supported by this URL", path);
            }
            (_, true) => {}
        }
        let value = self
            .broadcasts(name, request)
            .or_else(|| self.computes(side, name, request))
            .or_else(|| self.reads(side, name, request))
            .or_else(|| self.looks_up(side, name, request))
            .unwrap_or_else(|| json!({}));
        Reply::json(&value)
    }

    fn rpc(&self, side: Side, path: &str, request: &Request) -> Reply {
        if path != "/jsonrpc" && path != "/" {
            return Reply::page(404, "Not Found", path);
        }
        let body = self.json_rpc(side, request).to_string();
        Reply { status: 200, content_type: "application/json-rpc", body }
    }
}

/// The endpoints of the full port.
const POSTS: [&str; 30] = [
    "broadcasthex",
    "broadcasttransaction",
    "estimateenergy",
    "getaccount",
    "getaccountnet",
    "getaccountresource",
    "getbandwidthprices",
    "getblock",
    "getblockbyid",
    "getblockbylatestnum",
    "getblockbylimitnext",
    "getblockbynum",
    "getchainparameters",
    "getcontract",
    "getcontractinfo",
    "getenergyprices",
    "getnextmaintenancetime",
    "getnodeinfo",
    "getnowblock",
    "getpaginatednowwitnesslist",
    "getpendingsize",
    "gettransactionbyid",
    "gettransactioncountbyblocknum",
    "gettransactionfrompending",
    "gettransactioninfobyblocknum",
    "gettransactioninfobyid",
    "gettransactionlistfrompending",
    "listwitnesses",
    "triggerconstantcontract",
    "validateaddress",
];

/// Those that the solidity port has too.
const SOLID: [&str; 16] = [
    "estimateenergy",
    "getaccount",
    "getblock",
    "getblockbyid",
    "getblockbylatestnum",
    "getblockbylimitnext",
    "getblockbynum",
    "getnowblock",
    "gettransactionbyid",
    "gettransactioncountbyblocknum",
    "gettransactioninfobyblocknum",
    "gettransactioninfobyid",
    "triggerconstantcontract",
    "getnodeinfo",
    "listwitnesses",
    "getpaginatednowwitnesslist",
];
