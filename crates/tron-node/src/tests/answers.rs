//! Every recorded answer to a question that the client asks is read as what it says.

use super::recorded::{Double, Exchange, client, client_of, config, exchanges, recorded, serving};
use crate::{Api, CallOutcome, CallResult, ConstantCall, Detail, Side};
use alloy::primitives::{Address, B256};
use config::RpcUrl;
use node::{AskError, Fault};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

fn side(path: &str) -> Side {
    if path.starts_with("/walletsolidity/") { Side::Solidity } else { Side::Full }
}

/// Hands every recorded exchange of `question` to `check`, and says how many there were.
async fn each(question: &str, mut check: impl AsyncFnMut(Api<'_>, &Exchange)) -> usize {
    let double = Arc::new(Double::default());
    let mut seen = 0;
    serving(&double, async |url| {
        let api = client(url);
        for exchange in exchanges() {
            if exchange.path.rsplit('/').next() != Some(question) {
                continue;
            }
            double.says(&exchange.path, exchange.status, &exchange.sent);
            check(api.api(), exchange).await;
            seen += 1;
        }
    })
    .await;
    seen
}

/// Whether an answer is one that holds nothing to read: an error, or another service's page.
fn refused<T>(exchange: &Exchange, answer: &Result<T, AskError>) -> bool {
    let fault = answer.as_ref().err().map(|error| &error.fault);
    if let Some(said) = exchange.body.get("Error").and_then(Value::as_str) {
        assert!(matches!(fault, Some(Fault::Node(_))), "{}: {said} -> {fault:?}", exchange.place);
        return true;
    }
    if exchange.status != 200 {
        assert!(matches!(fault, Some(Fault::Http(_))), "{}: {fault:?}", exchange.place);
        return true;
    }
    false
}

fn empty(body: &Value) -> bool {
    body.as_object().is_some_and(serde_json::Map::is_empty)
}

fn address(text: &Value) -> Address {
    Address::from_slice(&hex::decode(text.as_str().unwrap()).unwrap()[1..])
}

#[tokio::test]
async fn blocks() {
    let (mut none, mut full) = (0, 0);
    let seen = each("getblock", async |api, exchange| {
        let number = exchange.asked["id_or_num"].as_str().filter(|id| id.len() < 64);
        let number = number.and_then(|id| id.parse().ok());
        let side = side(&exchange.path);
        let answer = api.block(side, number).await;
        if refused(exchange, &answer) {
            return;
        }
        let (body, place) = (&exchange.body, &exchange.place);
        let Some(block) = answer.unwrap_or_else(|error| panic!("{place}: {error}")) else {
            assert!(empty(body), "{place}");
            none += 1;
            return;
        };
        let header = &body["block_header"]["raw_data"];
        assert_eq!(hex::encode(block.id), body["blockID"].as_str().unwrap());
        assert_eq!(block.number, header["number"].as_u64().unwrap_or(0));
        assert_eq!(block.time_ms, header["timestamp"].as_u64().unwrap_or(0));
        assert_eq!(hex::encode(block.parent), header["parentHash"].as_str().unwrap());
        let shown = body["transactions"].as_array().map_or(0, Vec::len);
        let whole = api.claimed(side, block.number, Detail::Whole).await.unwrap().unwrap();
        assert_eq!(whole.transactions.len(), shown, "{place}");
        full += usize::from(shown > 0);
    })
    .await;
    assert!(seen > 40 && none > 3 && full > 3, "{seen} {none} {full}");
}

#[tokio::test]
async fn a_block_that_is_another_or_contradicts_itself_is_not_taken() {
    let lifecycle = recorded("08_lifecycle_success.json");
    let steps = lifecycle["steps"].as_array().unwrap();
    let good = steps.iter().find(|step| {
        step["request"]["body"]["detail"] == true && step["response"]["body"]["blockID"].is_string()
    });
    let good = &good.unwrap()["response"]["body"];
    let number = good["block_header"]["raw_data"]["number"].as_u64().unwrap();
    let double = Arc::new(Double::default());
    serving(&double, async |url| {
        let api = client(url);
        let ask = async |body: &Value, number| {
            double.says("/walletsolidity/getblock", 200, &body.to_string());
            api.api().block(Side::Solidity, Some(number)).await.map_err(|error| error.fault)
        };
        let proves = async |body: &Value| {
            double.says("/walletsolidity/getblock", 200, &body.to_string());
            let claimed = api.api().claimed(Side::Solidity, number, Detail::Whole).await;
            claimed.ok().flatten().is_some_and(|block| block.prove().is_ok())
        };
        assert!(ask(good, number).await.unwrap().is_some());
        assert_eq!(ask(good, number + 1).await, Err(Fault::Garbled), "another block");
        let changed = |pointer: &str, value: Value| {
            let mut body = good.clone();
            *body.pointer_mut(pointer).unwrap() = value;
            body
        };
        assert!(proves(good).await);
        for hidden in [Value::Array(vec![]), Value::Null] {
            assert!(!proves(&changed("/transactions", hidden)).await, "it commits to transactions");
        }
        let wrong = [
            changed("/block_header/raw_data/number", (number + 1).into()),
            changed("/block_header/raw_data/timestamp", 0.into()),
            changed("/blockID", hex::encode([9; 32]).into()),
            changed("/blockID", "".into()),
        ];
        for body in &wrong {
            assert_eq!(ask(body, number).await, Err(Fault::Garbled), "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn transactions_and_what_they_did() {
    let id = |exchange: &Exchange| -> B256 {
        exchange.asked["value"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default()
    };
    let seen = each("gettransactionbyid", async |api, exchange| {
        let answer = api.call_result(side(&exchange.path), id(exchange)).await;
        if !refused(exchange, &answer) {
            let result = exchange.body["ret"][0]["contractRet"].as_str().unwrap_or_default();
            let expected = match result {
                "SUCCESS" => Some(CallResult::Succeeded),
                "" => None,
                _ => Some(CallResult::Failed),
            };
            assert_eq!(answer, Ok(expected), "{}", exchange.place);
        }
    })
    .await;
    assert!(seen > 30, "{seen}");

    let mut outcomes: HashMap<(String, bool), usize> = HashMap::new();
    let seen = each("gettransactioninfobyid", async |api, exchange| {
        let answer = api.info(side(&exchange.path), id(exchange)).await;
        if refused(exchange, &answer) {
            return;
        }
        let (body, place) = (&exchange.body, &exchange.place);
        let Some(info) = answer.unwrap_or_else(|error| panic!("{place}: {error}")) else {
            assert!(empty(body), "{place}");
            return;
        };
        assert_eq!(info.block, body["blockNumber"].as_u64().unwrap());
        assert_eq!(info.block_time_ms, body["blockTimeStamp"].as_u64().unwrap());
        assert_eq!(info.fee, body["fee"].as_u64().unwrap_or(0));
        let word = body["receipt"]["result"].as_str().unwrap();
        let result = if word == "SUCCESS" { CallResult::Succeeded } else { CallResult::Failed };
        assert_eq!(info.result, Some(result), "{place}");
        assert_eq!(info.logs.len(), body["log"].as_array().map_or(0, Vec::len));
        for (log, raw) in info.logs.iter().zip(body["log"].as_array().into_iter().flatten()) {
            assert_eq!(hex::encode(log.address), raw["address"].as_str().unwrap());
            assert_eq!(hex::encode(&log.data.data), raw["data"].as_str().unwrap_or(""));
            assert_eq!(log.topics().len(), raw["topics"].as_array().unwrap().len());
        }
        *outcomes.entry((info.outcome, info.result == Some(CallResult::Succeeded))).or_default() +=
            1;
        if word == "REVERT" {
            assert_eq!(info.words, "REVERT opcode executed");
        }
    })
    .await;
    assert!(seen > 70, "{seen}");
    for failed in ["REVERT", "OUT_OF_ENERGY", "ILLEGAL_OPERATION", "OUT_OF_TIME"] {
        assert!(outcomes.contains_key(&(failed.to_owned(), false)), "{outcomes:?}");
    }
}

#[tokio::test]
async fn the_record_of_another_transaction_is_not_taken() {
    let mut tried = 0;
    each("gettransactioninfobyid", async |api, exchange| {
        if exchange.body.get("id").is_some() {
            let answer = api.info(side(&exchange.path), B256::repeat_byte(9)).await;
            assert_eq!(answer.unwrap_err().fault, Fault::Garbled);
            tried += 1;
        }
    })
    .await;
    each("gettransactionbyid", async |api, exchange| {
        if exchange.body.get("txID").is_some() {
            let answer = api.call_result(side(&exchange.path), B256::repeat_byte(9)).await;
            assert_eq!(answer.unwrap_err().fault, Fault::Garbled);
            tried += 1;
        }
    })
    .await;
    assert!(tried > 40, "{tried}");
}

#[tokio::test]
async fn constant_calls() {
    let (mut passed, mut reverted, mut stopped, mut slow) = (0, 0, 0, 0);
    each("triggerconstantcontract", async |api, exchange| {
        let call = ConstantCall { owner: Address::ZERO, contract: Address::ZERO, data: &[] };
        let answer = api.run(side(&exchange.path), call).await;
        if refused(exchange, &answer) {
            return;
        }
        let (body, place) = (&exchange.body, &exchange.place);
        let ran = answer.unwrap_or_else(|error| panic!("{place}: {error}"));
        slow += usize::from(ran.out_of_time());
        let failed = body["transaction"]["ret"][0]["ret"] == "FAILED";
        match ran {
            CallOutcome::Passed { energy, answer } => {
                assert!(!failed && body["result"]["result"] == true, "{place}");
                assert_eq!(energy, body["energy_used"].as_u64().unwrap_or(0));
                assert_eq!(hex::encode(answer), body["constant_result"][0].as_str().unwrap());
                passed += 1;
            }
            CallOutcome::Reverted { energy, data } => {
                assert!(failed, "{place}");
                assert_eq!(energy, body["energy_used"].as_u64().unwrap_or(0));
                assert_eq!(hex::encode(data), body["constant_result"][0].as_str().unwrap());
                reverted += 1;
            }
            CallOutcome::Stopped { code, words } => {
                assert_eq!(code, body["result"]["code"].as_str().unwrap(), "{place}");
                assert!(words.contains(' '), "{place}: {words}");
                stopped += 1;
            }
        }
    })
    .await;
    assert!(passed > 50 && reverted > 10 && stopped > 10 && slow > 2);
}

#[tokio::test]
async fn accounts_and_what_they_can_use() {
    let mut empty_handed = 0;
    let seen = each("getaccount", async |api, exchange| {
        let body = &exchange.body;
        if exchange.asked["visible"] == true
            || exchange.asked["address"].as_str().is_none_or(|a| a.len() != 42)
        {
            return;
        }
        let who = address(&exchange.asked["address"]);
        let answer = api.account(side(&exchange.path), who).await;
        if refused(exchange, &answer) {
            return;
        }
        let balance = answer.unwrap().map(|account| account.balance);
        let expected = (!empty(body)).then(|| body["balance"].as_u64().unwrap_or(0));
        assert_eq!(balance, expected, "{}", exchange.place);
        empty_handed += usize::from(balance.is_none());
        if balance.is_some() {
            let other = api.account(side(&exchange.path), Address::ZERO).await;
            assert_eq!(other.unwrap_err().fault, Fault::Garbled, "somebody else's account");
        }
    })
    .await;
    assert!(seen > 8 && empty_handed > 0, "{seen} {empty_handed}");

    let (mut energy, mut seen) = (0, 0);
    each("getaccountresource", async |api, exchange| {
        if side(&exchange.path) == Side::Solidity {
            return;
        }
        let answer = api.resources(Address::ZERO).await;
        if refused(exchange, &answer) {
            return;
        }
        let (left, body) = (answer.unwrap(), &exchange.body);
        let field = |name: &str| body[name].as_u64().unwrap_or(0);
        assert_eq!(left.free_bandwidth, field("freeNetLimit") - field("freeNetUsed"));
        assert_eq!(left.staked_bandwidth, field("NetLimit") - field("NetUsed"));
        assert_eq!(left.energy, field("EnergyLimit") - field("EnergyUsed"));
        energy += usize::from(left.energy > 0);
        seen += 1;
    })
    .await;
    assert!(seen > 5 && energy > 0, "{seen} {energy}");
}

#[tokio::test]
async fn parameters_and_contracts() {
    let seen = each("getchainparameters", async |api, exchange| {
        if side(&exchange.path) == Side::Solidity {
            return;
        }
        let parameters = api.parameters().await.unwrap();
        let named = |name| parameters.get(name);
        assert_eq!(named("getEnergyFee"), Some(100));
        assert_eq!(named("getTransactionFee"), Some(10));
        assert_eq!(named("getMaxFeeLimit"), Some(1_000_000_000));
        assert_eq!(named("getCreateNewAccountFeeInSystemContract"), Some(0), "left out is zero");
        assert_eq!(named("getNothing"), None);
        assert_eq!(exchange.status, 200);
    })
    .await;
    assert!(seen > 0);
    let seen = each("getnextmaintenancetime", async |api, exchange| {
        let next = api.next_maintenance_ms().await.unwrap();
        assert_eq!(next, exchange.body["num"].as_u64().unwrap());
    })
    .await;
    assert!(seen > 0);

    let (mut none, mut code) = (0, 0);
    each("getcontractinfo", async |api, exchange| {
        let Some(info) = api.contract(Address::ZERO).await.unwrap() else {
            assert!(empty(&exchange.body));
            none += 1;
            return;
        };
        let body = &exchange.body;
        assert_eq!(hex::encode(&info.code), body["runtimecode"].as_str().unwrap());
        let percent = body["smart_contract"]["consume_user_resource_percent"].as_u64();
        assert_eq!(info.caller_pays_percent, percent.unwrap_or(0));
        assert_eq!(
            info.energy_factor,
            body["contract_state"]["energy_factor"].as_u64().unwrap_or(0)
        );
        code += 1;
    })
    .await;
    assert!(none > 0 && code > 1, "{none} {code}");
}

#[tokio::test]
async fn calls_over_json_rpc_use_the_one_form_that_every_version_takes() {
    let double = Arc::new(Double::default());
    let mut seen = 0;
    serving(&double, async |url| {
        for exchange in exchanges().iter().filter(|one| one.path == "/jsonrpc") {
            let call = &exchange.asked["params"][0];
            let data = call["data"].as_str().and_then(|data| hex::decode(&data[2..]).ok());
            let (Some(data), Some(result)) = (data, exchange.body["result"].as_str()) else {
                continue;
            };
            if exchange.asked["method"] != "eth_call" {
                continue;
            }
            let id = exchange.body["id"].to_string();
            double.says(
                "/jsonrpc",
                200,
                &exchange.sent.replacen(&format!("\"id\":{id}"), "\"id\":1", 1),
            );
            let mut config = config(url, url);
            config.nodes[0].jsonrpc = Some(RpcUrl::parse(&format!("{url}/jsonrpc")).unwrap());
            let lone = client_of(&config).unwrap();
            let call = ConstantCall { owner: Address::ZERO, contract: Address::ZERO, data: &data };
            assert!(lone.api().speaks_jsonrpc() && !client(url).api().speaks_jsonrpc());
            let answer = lone.api().eth_call(call).await;
            assert_eq!(answer.unwrap().to_string(), result, "{}", exchange.place);
            let (_, asked) = double.asked.lock().last().unwrap().clone();
            assert_eq!(asked["params"][1], "latest");
            assert_eq!(asked["params"][0]["data"].as_str().unwrap()[2..], hex::encode(&data));
            assert!(asked["params"][0].get("input").is_none());
            seen += 1;
        }
    })
    .await;
    assert!(seen > 5, "{seen}");
}
