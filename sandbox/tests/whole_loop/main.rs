//! The whole loop: platform, Signer, scheduler and inbox, each a program of its own, on both chains, killed at every step that
//! one of them takes with another. Nobody pays twice, no event is lost, and the books agree in the end.
//!
//! `LOOP_ONE_IN=1` makes every kill instead of a slice. The ignored test is the year of a thousand: `./test --loop`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and is told how long to run by its environment"
)]

mod cast;
mod director;
mod lost;
mod money;
mod place;
mod road;
mod world;

use director::Director;
use std::time::{Duration, Instant};
use world::World;

/// How long one month may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);
/// After so many months it is enough: a quick machine makes few kills in each.
const MONTHS: u64 = 60;
/// So many kills, reorganisations and outages at least there are in each month of a year.
const MISFORTUNES: u64 = 5;

/// A number of the environment.
fn told(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_program_is_killed_at_every_step_and_the_books_agree() {
    let director = Director::new(told("LOOP_ONE_IN", 8), 0, 0);
    let world = World::new(director, 2).await;
    let (mut period, mut kills, mut quiet) = (1, 0, 0);
    loop {
        let began = Instant::now();
        world.director.set_armed(true);
        tokio::join!(world.everybody_pays(period, PATIENCE), world.money_moves(period));
        let (now, steps) = world.director.count();
        println!("period {period}: {} kills at {steps} steps, {:?}", now - kills, began.elapsed());
        // A step that comes by only when a program starts needs a month in which somebody else was killed.
        quiet = if now == kills { quiet + 1 } else { 0 };
        if quiet == 2 || period == MONTHS {
            break;
        }
        kills = now;
        world.rest().await;
        world.month().await;
        period += 1;
    }
    world.agree(period).await;
    let steps = world.director.steps();
    println!("{steps:#?}");
    for words in world.director.missed() {
        println!("{words}");
    }
    for step in [
        "merchant to platform: POST /api/mer/user/create",
        "merchant to platform: POST /api/mer/withdraw/apply",
        "scheduler to platform: GET /api/mer/subscribe/chargeable/list",
        "scheduler to Signer: POST /PayTool/EVM/subscribe/signProcessSubscribePlan",
        "scheduler to Signer: POST /PayTool/TVM/subscribe/signProcessSubscribePlan",
        "scheduler to Signer: GET /PayTool/billings/*",
        "scheduler to inbox: POST /notices",
        "scheduler to inbox: GET /events",
        "platform to inbox: POST /callbacks",
        "inbox to Signer: GET /PayTool/billings/*",
        "Signer to EVM: eth_sendRawTransaction",
        "Signer to TRON full: POST /wallet/broadcasthex",
    ] {
        assert!(steps.iter().any(|seen| seen == step), "{step} did not come by");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes, in a release build: ./test --loop"]
async fn a_thousand_pay_for_a_year_whatever_happens() {
    let (users, months) = (told("LOOP_USERS", 500), told("LOOP_MONTHS", 12));
    let began = Instant::now();
    let director = Director::new(0, 200, told("LOOP_SEED", 1));
    let world = World::new(director, usize::try_from(users).unwrap()).await;
    println!("{} subscribed after {:?}", users * 2, began.elapsed());
    let mut misfortunes = 0;
    for period in 1..=months {
        world.director.set_armed(true);
        let month = async {
            tokio::join!(world.everybody_pays(period, PATIENCE), world.money_moves(period))
        };
        tokio::pin!(month);
        let enough = misfortunes + MISFORTUNES;
        let mut over = false;
        while !over || misfortunes < enough {
            let pause = Duration::from_millis(200 + world.director.throw(1500));
            tokio::select! {
                _ = &mut month, if !over => over = true,
                () = tokio::time::sleep(pause) => {
                    let dice = usize::try_from(world.director.throw(6)).unwrap();
                    misfortunes += if let Some(part) = cast::Part::ALL.get(dice) {
                        u64::from(world.cast.kill(*part))
                    } else {
                        world.misfortune().await;
                        1
                    };
                }
            }
        }
        println!("period {period} after {:?}, {misfortunes} misfortunes", began.elapsed());
        world.rest().await;
        if period < months {
            world.month().await;
        }
    }
    world.agree(months).await;
    println!("the books agree after {:?}, killed: {:?}", began.elapsed(), world.cast.kills());
}
