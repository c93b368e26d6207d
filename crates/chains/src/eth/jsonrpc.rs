//! JSON-RPC 2.0 over one HTTP body: single requests, batches, notifications, and errors in geth's words.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The outcome of a method.
pub type Answer = Result<Value, Error>;

/// Why there is no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// The protocol's number for it.
    pub code: i64,
    /// The failure.
    pub message: String,
    /// Data that a call reverted with, hex.
    pub data: Option<Value>,
}

impl Error {
    /// An error of the node's own: -32000.
    pub fn node(message: impl Into<String>) -> Self {
        Self::new(-32_000, message)
    }

    /// Arguments that do not fit the method: -32602.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    /// An error with a number.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// The positional arguments of a request.
#[derive(Clone, Debug, Default)]
pub struct Args(Vec<Value>);

impl Args {
    /// Reads them as a tuple of `count`. Those that are missing count as null, which only an `Option` takes.
    pub fn read<T: DeserializeOwned>(mut self, count: usize) -> Result<T, Error> {
        if self.0.len() > count {
            return Err(Error::params(format!("too many arguments, want at most {count}")));
        }
        let given = self.0.len();
        self.0.resize(count, Value::Null);
        serde_json::from_value(Value::Array(self.0)).map_err(|error| {
            Error::params(format!("invalid arguments ({given} of {count} given): {error}"))
        })
    }
}

/// Any result as JSON.
pub fn value(of: impl Serialize) -> Answer {
    serde_json::to_value(of).map_err(|error| Error::new(-32_603, error.to_string()))
}

/// Answers a body; None when it holds nothing but notifications.
pub fn respond(body: &[u8], method: impl FnMut(&str, Args) -> Answer) -> Option<Value> {
    match serde_json::from_slice(body) {
        Err(error) => Some(failure(&Value::Null, Error::new(-32_700, error.to_string()))),
        Ok(read) => respond_to(read, method),
    }
}

/// The same of a body that was read already.
pub fn respond_to(body: Value, mut method: impl FnMut(&str, Args) -> Answer) -> Option<Value> {
    let Value::Array(batch) = body else { return one(body, &mut method) };
    if batch.is_empty() {
        return Some(failure(&Value::Null, Error::new(-32_600, "empty batch")));
    }
    let answers: Vec<Value> =
        batch.into_iter().filter_map(|request| one(request, &mut method)).collect();
    (!answers.is_empty()).then_some(Value::Array(answers))
}

fn one(mut request: Value, method: &mut impl FnMut(&str, Args) -> Answer) -> Option<Value> {
    let id = request.get("id").cloned();
    let name = request.get("method").and_then(Value::as_str).map(str::to_owned);
    let (Some(name), true) = (name, request["jsonrpc"] == "2.0") else {
        let id = id.unwrap_or(Value::Null);
        return Some(failure(&id, Error::new(-32_600, "invalid request")));
    };
    let answer = match request.get_mut("params").map(Value::take) {
        None | Some(Value::Null) => method(&name, Args::default()),
        Some(Value::Array(args)) => method(&name, Args(args)),
        Some(_) => Err(Error::params("non-array args")),
    };
    let id = id?; // without an id nobody waits for the answer
    Some(match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => failure(&id, error),
    })
}

fn failure(id: &Value, error: Error) -> Value {
    let mut said = json!({"code": error.code, "message": error.message});
    if let Some(data) = error.data {
        said["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": said})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(method: &str, args: Args) -> Answer {
        match method {
            "echo" => args.read::<(u64, Option<u64>)>(2).and_then(value),
            _ => Err(Error::new(-32_601, "no")),
        }
    }

    fn said(body: &str) -> Value {
        respond(body.as_bytes(), echo).unwrap_or_default()
    }

    #[test]
    fn requests_batches_and_notifications_are_told_apart() {
        let good = said(r#"{"jsonrpc":"2.0","id":"a","method":"echo","params":[1]}"#);
        assert_eq!(good, json!({"jsonrpc": "2.0", "id": "a", "result": [1, null]}));
        let batch = said(
            r#"[{"jsonrpc":"2.0","id":1,"method":"echo","params":[1,2]},{"jsonrpc":"2.0","id":2,"method":"x"},
                {"jsonrpc":"2.0","method":"echo","params":[1]}]"#,
        );
        assert_eq!(batch[0]["result"], json!([1, 2]));
        assert_eq!(batch[1]["error"]["code"], -32_601);
        assert_eq!(batch.as_array().map(Vec::len), Some(2));
        assert_eq!(said(r#"{"jsonrpc":"2.0","method":"echo","params":[1]}"#), Value::Null);
    }

    #[test]
    fn what_is_no_request_is_told_why() {
        for (body, code) in [
            ("{", -32_700),
            ("[]", -32_600),
            ("7", -32_600),
            (r#"{"id":1,"method":"echo"}"#, -32_600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}"#, -32_602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}"#, -32_602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":[1,2,3]}"#, -32_602),
        ] {
            assert_eq!(said(body)["error"]["code"], code, "{body}");
        }
    }
}
