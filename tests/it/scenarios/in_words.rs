//! Money is told in coins and tokens, with their symbols, wherever a person reads it.

use super::policy::town_with;
use crate::world::anvil::Family;
use crate::world::town::{PRICE, Town};
use serde_json::json;

on_both_families![check_status_and_refusals_tell_money_in_tokens_and_coins];

/// What a command wrote.
async fn told(town: &Town, arguments: &[&str]) -> String {
    let output = town.installation.run(arguments).await;
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

async fn check_status_and_refusals_tell_money_in_tokens_and_coins(family: Family) {
    let (fees, coin) = match family {
        Family::Evm => ("100 ether", "ETH"),
        Family::Tron => ("100000 TRX", "TRX"),
    };
    let town = town_with(family, |token| {
        format!(
            "tokens.USDT = {token:?}\ndecimals.USDT = 18\nmax_amount.USDT = \"{PRICE}\"\n\
             max_amount_per_day.USDT = \"{PRICE}\"\nmax_fee_per_day = {fees:?}"
        )
    })
    .await;
    assert_eq!(PRICE, 10_000_000_000_000_000_000);
    let price = "10 USDT";
    let checked = told(&town, &["check"]).await;
    let limits = format!(" {coin} a day; {price} a charge, {price} a day");
    assert!(checked.contains(&limits), "{limits}: {checked}");
    for raw in [" wei", " sun", "base units"] {
        assert!(!checked.contains(raw), "{raw}: {checked}");
    }

    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let status = told(&town, &["status", "--server", &signer.scheduler.url]).await;
    for line in [format!("  today: {price}\n"), "  today: fees of at most ".to_owned()] {
        assert!(status.contains(&line), "{line}: {status}");
    }
    assert!(status.contains(&limits) && status.matches(coin).count() == 2, "{status}");

    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    let said = format!("{price} of {price} is used up today (UTC), and this needs {price} more");
    assert!(refused.body["msg"].as_str().is_some_and(|msg| msg.contains(&said)), "{refused:?}");
}
