//! The false answers of nodes. One node of each chain may lie outright; every node may at times not know what it
//! should.

use crate::dice::Fault;
use crate::exchange::{Place, Question};
use crate::false_records::{
    alter_header, alter_receipt, alter_receipts, empty, hex, retype, unhash,
};
use crate::mutants::Mutant;
use crate::world::{Side, World};
use alloy::sol_types::SolEvent as _;
use node::Reply;
use sandbox_chains::contracts::Careless;
use sandbox_chains::eth;
use sandbox_chains::tron::http::Port;
use serde_json::{Value, json};

/// Returns the answer that is given instead of asking the node at all.
pub(crate) fn instead(world: &mut World, question: &Question) -> Option<Value> {
    match question.at {
        Place::Evm(_) => evm_instead(world, question),
        Place::Tron(..) => tron_instead(world, question),
    }
}

fn id(question: &Question) -> Value {
    question.json.get("id").cloned().unwrap_or_default()
}

fn rpc_error(question: &Question, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id(question), "error": {"code": -32000, "message": message}})
}

fn evm_instead(world: &mut World, question: &Question) -> Option<Value> {
    let name = Side::Evm.name();
    match question.name.as_str() {
        "eth_sendRawTransaction" => {
            if world.is_liar(question.at) && world.fault(name, Fault::Lie) {
                // It says that it has taken it, and has not.
                let hash = question.offers?;
                return Some(json!({"jsonrpc": "2.0", "id": id(question), "result": hash}));
            }
            let words = [
                "nonce too low: next nonce 9, tx nonce 1",
                "replacement transaction underpriced",
                "insufficient funds for gas * price + value",
                "already known",
                "transaction type not supported",
                "intrinsic gas too low: gas 1",
            ];
            let word = words[world.dice.place(words.len())];
            world.fault(name, Fault::FalseRefusal).then(|| rpc_error(question, word))
        }
        "eth_getTransactionReceipt" => world
            .fault(name, Fault::LostReceipt)
            .then(|| json!({"jsonrpc": "2.0", "id": id(question), "result": null})),
        "eth_getTransactionCount" | "eth_getBalance" | "eth_call" => {
            let text = &question.body;
            let past = !text.contains("\"latest\"") && !text.contains("\"pending\"");
            let pruned = is_final_block(world, question) && world.fault(name, Fault::Pruned);
            (pruned || past && world.fault(name, Fault::NoState))
                .then(|| rpc_error(question, "missing trie node"))
        }
        _ => None,
    }
}

/// Returns true if TRON's nodes keep no records: for a while, or ever.
fn keeps_no_records(world: &World) -> bool {
    (world.scene.recordless && world.dice.faults) || world.dice.knows(Fault::NoHistory)
}

/// Returns true if an account's holdings are asked as of a final block, by its number.
fn is_final_block(world: &World, question: &Question) -> bool {
    let asked = question.json["params"][1].as_str().filter(|_| question.name != "eth_call");
    let asked = asked.and_then(|number| u64::from_str_radix(number.strip_prefix("0x")?, 16).ok());
    let member = &world.evm.members[question.at.number()];
    asked.is_some_and(|number| number <= member.chain().solid().header.number)
}

fn tron_instead(world: &mut World, question: &Question) -> Option<Value> {
    let name = Side::Tron.name();
    match question.name.as_str() {
        "broadcasthex" => {
            let codes = [
                "SERVER_BUSY",
                "DUP_TRANSACTION_ERROR",
                "TRANSACTION_EXPIRATION_ERROR",
                "TAPOS_ERROR",
                "SIGERROR",
            ];
            let code = codes[world.dice.place(codes.len())];
            let message = alloy::hex::encode("no");
            world
                .fault(name, Fault::FalseRefusal)
                .then(|| json!({"code": code, "message": message}))
        }
        "gettransactioninfobyid" if world.fault(name, Fault::NoRecord) => {
            Some(json!({"Error": "class java.lang.NullPointerException : null"}))
        }
        "gettransactioninfobyid" if keeps_no_records(world) => Some(json!({})),
        "gettransactioninfobyid" | "gettransactionbyid" => {
            world.fault(name, Fault::LostReceipt).then(|| json!({}))
        }
        _ => None,
    }
}

/// Returns a true answer, falsified on its way out if the dice say so.
pub(crate) fn falsified(world: &mut World, question: &Question, mut told: Reply) -> Reply {
    let wanted = match question.at {
        Place::Evm(number) => evm_falsified(world, question, number, &told.body),
        Place::Tron(_, port) => tron_falsified(world, question, port, &told.body),
    };
    if let Some(wanted) = wanted {
        told.body = wanted.to_string().into_bytes();
    }
    told
}

/// Returns an answer that any node may give and that is not so, or is not so any more.
fn evm_mistaken(
    world: &mut World,
    question: &Question,
    number: usize,
    body: &[u8],
) -> Option<Value> {
    let final_block = question.body.contains("\"finalized\"");
    let early = world.breaks(Mutant::LearnTooEarly) && world.now_ms < world.foreign_ms + 15_000;
    if final_block && (early || world.breaks(Mutant::LatestNotFinal)) {
        let mut asked = question.json.clone();
        asked["params"][0] = json!("latest");
        return eth::respond_to(&world.evm.members[number], asked);
    }
    let name = Side::Evm.name();
    let of_pools =
        question.name == "eth_getTransactionCount" && question.body.contains("\"pending\"");
    let content = question.name == "txpool_contentFrom";
    let silent = world.breaks(Mutant::SilenceOfPools);
    let liar = world.is_liar(question.at) && !world.is_alone(Side::Evm);
    if (of_pools || content) && (silent || (liar && world.fault(name, Fault::SecretPool))) {
        if content {
            return Some(rpc_error(question, "the method is not available"));
        }
        let mut asked = question.json.clone();
        asked["params"][1] = json!("latest");
        return eth::respond_to(&world.evm.members[number], asked);
    }
    if world.breaks(Mutant::NobodyHasTheNonce) && question.name == "eth_getBlockByNumber" {
        return world.carries(body).then(|| rpc_error(question, "block is pruned"));
    }
    if question.name == "eth_getTransactionReceipt"
        && let Some(orphan) = question.names.and_then(|hash| world.orphaned(&hash))
        && world.fault(name, Fault::OrphanedReceipt)
    {
        return Some(json!({"jsonrpc": "2.0", "id": id(question), "result": orphan}));
    }
    if final_block && world.fault(name, Fault::StaleFinal) {
        let mut asked = question.json.clone();
        let solid = world.evm.members[number].chain().solid().header.number;
        asked["params"][0] = json!(format!("{:#x}", solid.saturating_sub(3)));
        return eth::respond_to(&world.evm.members[number], asked);
    }
    None
}

fn evm_falsified(
    world: &mut World,
    question: &Question,
    number: usize,
    body: &[u8],
) -> Option<Value> {
    if let Some(made_up) = world.tells_made_up(question, body) {
        return Some(made_up);
    }
    let mistaken = evm_mistaken(world, question, number, body)
        .or_else(|| unjudged(world.mutant?, question, body));
    if mistaken.is_some() || !world.is_liar(question.at) {
        return mistaken;
    }
    let name = Side::Evm.name();
    // Which block is final, and the state of the chain, are the word of a sole provider; what is in a block is not.
    let alone = world.is_alone(Side::Evm);
    let about_blocks: &[Fault] = if alone {
        &[Fault::AlteredBlock, Fault::EmptyBlock]
    } else {
        &[Fault::LieAboutTime, Fault::Ahead, Fault::AlteredBlock, Fault::EmptyBlock]
    };
    let lies = match question.name.as_str() {
        "eth_getBlockByNumber" | "eth_getBlockByHash" => about_blocks,
        "eth_getTransactionReceipt" | "eth_getBlockReceipts" => &[Fault::Lie],
        "eth_getTransactionCount" | "eth_call" | "eth_simulateV1" if !alone => &[Fault::Lie],
        _ => &[],
    };
    let lie = *lies.iter().find(|lie| world.fault(name, **lie))?;
    let mut said: Value = serde_json::from_slice(body).ok()?;
    let result = said.get_mut("result").filter(|result| !result.is_null())?;
    match (question.name.as_str(), lie) {
        ("eth_getTransactionReceipt", _) => alter_receipt(&mut world.dice, result),
        ("eth_getBlockReceipts", _) => alter_receipts(&mut world.dice, result),
        (_, Fault::AlteredBlock) => alter_header(&mut world.dice, result),
        (_, Fault::EmptyBlock) => empty(&mut world.dice, result),
        ("eth_getTransactionCount", _) => {
            *result = json!(format!("{:#x}", hex(result) + 1 + world.dice.below(3)));
        }
        (_, Fault::LieAboutTime) => {
            result["timestamp"] = json!(format!("{:#x}", hex(&result["timestamp"]) + 7200));
        }
        (_, Fault::Ahead) => {
            let more = 1 + world.dice.below(8);
            result["number"] = json!(format!("{:#x}", hex(&result["number"]) + more));
        }
        _ => return Some(rpc_error(question, "execution reverted")),
    }
    Some(said)
}

/// Returns a true answer in a form that no step of a proof can judge, where that step is the broken rule.
fn unjudged(mutant: Mutant, question: &Question, body: &[u8]) -> Option<Value> {
    let mut said: Value = serde_json::from_slice(body).ok()?;
    let result = said.get_mut("result").filter(|result| !result.is_null())?;
    match (mutant, question.name.as_str()) {
        (Mutant::HeadersUnhashed, "eth_getBlockByHash") => unhash(result),
        (Mutant::TransactionsUnproven, "eth_getBlockByHash") => retype(&mut result["transactions"]),
        (Mutant::ReceiptsUnproven, "eth_getBlockReceipts") => retype(result),
        _ => return None,
    }
    Some(said)
}

fn tron_falsified(
    world: &mut World,
    question: &Question,
    port: Port,
    body: &[u8],
) -> Option<Value> {
    if port == Port::Solidity && world.breaks(Mutant::LatestNotFinal) {
        let path = format!("/{}", question.path.trim_start_matches('/'))
            .replace("walletsolidity", "wallet");
        let member = &world.tron.members[question.at.number()];
        let said = member.answer(Port::Full, "POST", &path, &question.body);
        return serde_json::from_str(&said.body).ok();
    }
    let young = port == Port::Full
        && (world.breaks(Mutant::SilenceOfPools) || world.breaks(Mutant::RivalUnseen));
    if question.name == "getaccount" && (young || world.breaks(Mutant::TrustOldCopy)) {
        let mut said: Value = serde_json::from_slice(body).ok()?;
        said.as_object_mut()?.remove("latest_opration_time");
        return Some(said);
    }
    let name = Side::Tron.name();
    if !world.is_liar(question.at) {
        return None;
    }
    // Of one provider alone, events and results are its word; its blocks are proven all the same.
    let believed = world.is_alone(Side::Tron);
    let blocks = ["getblockbynum", "getblock", "getnowblock", "getblockbylimitnext"];
    let about_blocks: &[Fault] = &[Fault::EmptyBlock, Fault::AlteredBlock, Fault::Resigned];
    let lies: &[Fault] = match question.name.as_str() {
        "gettransactioninfobyid" | "triggerconstantcontract" if !believed => &[Fault::Lie],
        asked if blocks.contains(&asked) => about_blocks,
        _ => &[],
    };
    let lie = lies.iter().find(|lie| world.fault(name, **lie))?;
    let mut said: Value = serde_json::from_slice(body).ok()?;
    match (question.name.as_str(), lie) {
        (_, Fault::EmptyBlock) => strip(&mut said),
        (_, Fault::AlteredBlock) => zero_root(&mut said),
        (_, Fault::Resigned) => sign_again(&mut said),
        ("triggerconstantcontract", _) => fail(&mut said),
        _ if said.get("id").is_none() => return None,
        _ => match world.dice.below(4) {
            0 => {
                said["result"] = json!("FAILED");
                said["receipt"]["result"] = json!("REVERT");
            }
            1 => said = json!({}),
            _ => turn_events(&mut said),
        },
    }
    Some(said)
}

/// Says that a call reverted, and not why.
fn fail(said: &mut Value) {
    said["result"] =
        json!({"result": true, "message": alloy::hex::encode("REVERT opcode executed")});
    said["constant_result"] = json!([""]);
    said["transaction"]["ret"] = json!([{"ret": "FAILED"}]);
}

/// Says of everybody who was charged that the contract passed over them.
fn turn_events(said: &mut Value) {
    let [charged, skipped] =
        [Careless::Charged::SIGNATURE_HASH, Careless::NotCharged::SIGNATURE_HASH]
            .map(alloy::hex::encode);
    for log in said["log"].as_array_mut().into_iter().flatten() {
        if log["topics"][0] == json!(charged) {
            log["topics"][0] = json!(skipped);
            // The last word of the data is the amount, in whose place the reason stands.
            let data = log["data"].as_str().unwrap_or_default();
            let kept = data.len().saturating_sub(64);
            log["data"] = json!(format!("{}{:064x}", &data[..kept], 1));
        }
    }
}

/// Puts a signature under a header that somebody has made, and not its witness. The id does not cover it.
fn sign_again(said: &mut Value) {
    if let Some(blocks) = said.get_mut("block").and_then(Value::as_array_mut) {
        return blocks.iter_mut().for_each(sign_again);
    }
    if let Some(signature) = said.pointer_mut("/block_header/witness_signature") {
        // The generator of the curve as r: there is a key that signs so.
        let r = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        *signature = json!(format!("{r}{}00", "22".repeat(32)));
    }
}

/// Takes the transactions out of a block, or of each of a list.
fn strip(said: &mut Value) {
    if let Some(blocks) = said.get_mut("block").and_then(Value::as_array_mut) {
        blocks.iter_mut().for_each(strip);
    } else if let Some(block) = said.as_object_mut() {
        block.remove("transactions");
    }
}

/// The same, and the root says that there never were any.
fn zero_root(said: &mut Value) {
    if let Some(blocks) = said.get_mut("block").and_then(Value::as_array_mut) {
        blocks.iter_mut().for_each(zero_root);
    } else {
        strip(said);
        if let Some(raw) = said.pointer_mut("/block_header/raw_data") {
            raw["txTrieRoot"] = json!("0".repeat(64));
        }
    }
}
