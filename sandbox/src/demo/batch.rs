//! One batch on one chain: all or nothing, then in part, then again, and the chain's last word.

use super::paper::{Ink, Paper};
use super::report::{Outcome, Refused};
use super::scheduler::{Heard, Scheduler};
use super::side::Side;
use super::stories::STORIES;
use super::{Error, Options};
use alloy::primitives::U256;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest time that the chain may take to decide.
const PATIENCE: Duration = Duration::from_mins(2);

/// Bills the dozen, shows it, and compares it with what was to be expected.
pub(crate) async fn bill(
    options: &Options,
    paper: &Paper,
    scheduler: &Scheduler,
    side: &Side,
) -> Result<Outcome, Error> {
    let (began, name) = (Instant::now(), side.family.name());
    let (path, list) = (side.family.path(), side.entries());
    let mut outcome = Outcome::default();

    paper.title(&format!("{name}. The scheduler posts all twelve as one batch, all or nothing."));
    let request = json!({"requestId": format!("{}/1", side.family.key()), "list": list});
    paper.line(&format!("  POST {path}"));
    paper.json(&request);
    let all = scheduler.bill(side.family, &request).await?;
    outcome.first_answer_seconds = seconds(options.started.elapsed());
    paper.line(&format!("  code {} {}", all.code, answered(&all)));
    let first = outcome.first_answer_seconds;
    let first = format!("  That is {first} s after the start of this process.");
    paper.line(&paper.ink(Ink::Faint, &first));
    outcome.expect(all.code == 2, "code 2 while one of the batch cannot be charged");
    let named = refused(&all.data);

    paper.title(
        "Some cannot be charged, so nobody was. It posts them again: \"mode\": \"partial\".",
    );
    let request =
        json!({"requestId": format!("{}/2", side.family.key()), "mode": "partial", "list": list});
    let part = scheduler.bill(side.family, &request).await?;
    paper.line(&format!("  code {} {}:", part.code, answered(&part)));
    paper.json(&part.data);
    let data = &part.data;
    outcome.code = part.code;
    outcome.tx_hash = data["txHash"].as_str().unwrap_or_default().to_owned();
    outcome.charged = ids(&data["subscriptionIds"]);
    outcome.refused = refused(&data["failed"]);
    outcome.expect(outcome.code == 1, "code 1 in partial mode");
    outcome.expect(named == outcome.refused, "the same refusals both times");
    judge_answers(&mut outcome, side);

    repeat(&mut outcome, paper, scheduler, side, &list).await?;
    let billing = decided(scheduler, &outcome.tx_hash).await?;
    let state = billing["state"].as_str().unwrap_or("nothing");
    paper.title(&format!("The chain has decided: {state}, in block {}.", billing["block"]));
    outcome.states = states(&billing);
    outcome.seconds = seconds(began.elapsed());
    judge_chain(&mut outcome, side, &billing);
    table(paper, side, &outcome);
    for fault in &outcome.faults {
        paper.line(&format!("  {}", paper.ink(Ink::Bad, fault)));
    }
    Ok(outcome)
}

/// The good ones are posted again.
async fn repeat(
    outcome: &mut Outcome,
    paper: &Paper,
    scheduler: &Scheduler,
    side: &Side,
    list: &[Value],
) -> Result<(), Error> {
    let good = list.iter().zip(STORIES).filter(|(_, story)| story.refused.is_none());
    let good: Vec<&Value> = good.map(|(entry, _)| entry).collect();
    let again = scheduler.bill(side.family, &json!(good)).await?;
    let hash = &again.data["txHash"];
    let same = again.code == 1 && *hash == outcome.tx_hash.as_str();
    outcome.expect(same, "the same transaction when the good ones are posted again");
    paper.title(
        "It lost the answer and posts the six again: the same transaction, nothing new is signed.",
    );
    paper.line(&format!("  code {} {}: txHash {hash}", again.code, answered(&again)));
    Ok(())
}

/// Asks until the billing is no longer open.
async fn decided(scheduler: &Scheduler, hash: &str) -> Result<Value, Error> {
    let began = Instant::now();
    loop {
        let billing = scheduler.billing(hash).await?;
        if billing["state"] != "open" || began.elapsed() > PATIENCE {
            return Ok(billing);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Everybody is told what their story says.
fn judge_answers(outcome: &mut Outcome, side: &Side) {
    for (place, story) in STORIES.iter().enumerate() {
        let id = side.id(place);
        let told = outcome.refused.iter().find(|refused| refused.subscribe_id == id);
        let told = told.map(|refused| refused.fail_code.clone());
        let charged = outcome.charged.contains(&id);
        let held = told.as_deref() == story.refused && charged == story.refused.is_none();
        let wanted = story.refused.unwrap_or("to be charged");
        outcome.expect(held, &format!("{id}, who {}, {wanted}; heard {told:?}", story.what));
    }
}

/// The money is where the answers say, by the chain itself.
fn judge_chain(outcome: &mut Outcome, side: &Side, billing: &Value) {
    let (town, ground) = (&side.town, side.ground.as_ref());
    outcome.expect(billing["state"] == "charged", "the billing is charged in the end");
    let mut paid = 0_u64;
    for (place, story) in STORIES.iter().enumerate() {
        let (id, person) = (side.id(place), &town.people[place]);
        let charged = town.was_charged(ground, person, 1);
        paid += u64::from(charged);
        let told = outcome.states.get(&id).is_some_and(|state| state == "charged");
        let held = charged == story.refused.is_none() && charged == told;
        outcome.expect(held, &format!("{id} charged on chain exactly if the answer said so"));
    }
    let held = side.income() == U256::from(town.price) * U256::from(paid);
    outcome
        .expect(held, &format!("{paid} times the price for the merchant, not {}", side.income()));
}

fn table(paper: &Paper, side: &Side, outcome: &Outcome) {
    for (place, story) in STORIES.iter().enumerate() {
        let id = side.id(place);
        let refused = outcome.refused.iter().find(|refused| refused.subscribe_id == id);
        let said = match (outcome.states.get(&id), refused) {
            (Some(state), _) => paper.ink(Ink::Good, &format!("{state:<31}")),
            (None, Some(refused)) => paper.ink(Ink::Bad, &format!("{:<31}", refused.fail_reason)),
            (None, None) => paper.ink(Ink::Bad, "not mentioned"),
        };
        let meaning = paper.ink(Ink::Faint, story.meaning);
        paper.line(format!("  {id}  {:<29} {said} {meaning}", story.what).trim_end());
    }
    paper.line(&format!("  The merchant received {} base units.", side.income()));
}

fn answered(heard: &Heard) -> String {
    format!("after {} ms", heard.took.as_millis())
}

fn ids(list: &Value) -> Vec<u64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

fn refused(list: &Value) -> Vec<Refused> {
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let one = |failure: &Value| Refused {
        subscribe_id: failure["subscribeId"].as_u64().unwrap_or_default(),
        fail_code: text(&failure["failCode"]),
        fail_reason: text(&failure["failReason"]),
    };
    list.as_array().into_iter().flatten().map(one).collect()
}

fn states(billing: &Value) -> BTreeMap<u64, String> {
    let lines = billing["subscriptions"].as_array().into_iter().flatten();
    let state =
        |line: &Value| Some((line["subscribeId"].as_u64()?, line["state"].as_str()?.to_owned()));
    lines.filter_map(state).collect()
}

/// Seconds, to the millisecond.
fn seconds(time: Duration) -> f64 {
    format!("{:.3}", time.as_secs_f64()).parse().unwrap_or_default()
}
