//! Three Signers on one server and sixteen callers who ask for the same people, while whoever serves is killed,
//! stopped, or cut off, and the server is restarted and killed. In the end everybody that anybody asked for has
//! paid once, and the time until another served is printed. `./test --takeovers`; a slice of it is in the step
//! `postgres`.

use crate::world::anvil::{Family, Mining};
use crate::world::patience::{Dice, eventually};
use crate::world::port::KeptPort;
use crate::world::postmaster::Postmaster;
use crate::world::signer::database::variable;
use crate::world::signer::{CALLER, Installation, SECRET, Scheduler, Signer, unix_seconds};
use crate::world::town::{Founding, Town};
use crate::world::wire::Wire;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const MACHINES: [&str; 3] = ["first", "second", "third"];
const CALLERS: u64 = 16;

/// How many misfortunes befall one town, and how many people fall due before the next.
const ROUNDS: usize = 20;
const EACH: usize = 10;

/// What befalls whoever serves, or the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Misfortune {
    Killed,
    KilledWithAStandby,
    Stopped,
    CutOff,
    BackendKilled,
    ServerRestarted,
    ServerKilled,
}

/// One of each kind; most are killed, which is the shortest of them.
const SLICE: [Misfortune; 7] = [
    Misfortune::Killed,
    Misfortune::BackendKilled,
    Misfortune::Stopped,
    Misfortune::KilledWithAStandby,
    Misfortune::ServerRestarted,
    Misfortune::CutOff,
    Misfortune::ServerKilled,
];

/// A machine: where it is reached, and what runs on it.
struct Machine {
    installation: Installation,
    wire: Wire,
    scheduler: Scheduler,
    signer: Option<Signer>,
    /// Of its Signer, also while that is down.
    _port: KeptPort,
}

impl Machine {
    async fn new(town: &Town, name: &str) -> Self {
        let database = town.installation.database.as_ref().expect("SIGNER_TEST_JOURNAL=server");
        let wire = Wire::to(database.port).await;
        let port = KeptPort::new();
        let at = port.at().to_string();
        let here = &town.installation;
        let here = if name == MACHINES[0] { here.clone() } else { here.beside(name) };
        let installation = here
            .env("SIGNER__JOURNAL__INSTANCE", name)
            .env("SIGNER__JOURNAL__TAKEOVER_AFTER", "3s")
            .env("SIGNER__JOURNAL__TIMEOUT", "2s")
            .env("SIGNER__JOURNAL__URL", &database.url_of("signer", wire.port))
            .env("SIGNER__HTTP__LISTEN", &at);
        let (key, secret) = (CALLER.to_owned(), SECRET.to_owned());
        let client = reqwest::Client::builder().timeout(Duration::from_secs(8)).build().unwrap();
        let path = installation.path;
        let scheduler = Scheduler { url: format!("http://{at}"), key, secret, client, path };
        Self { installation, wire, scheduler, signer: None, _port: port }
    }

    /// Starts what has ended, as a supervisor does: it may end at once while the server is away.
    async fn tend(&mut self) {
        let ended = |signer: &mut Signer| signer.process.try_wait().unwrap().is_some();
        if self.signer.as_mut().is_none_or(ended) {
            self.signer = self.installation.try_start().await.ok();
        }
    }

    /// Whether it has a mark.
    fn has_joined(&self) -> bool {
        self.installation.path().join("journal.mark").exists()
    }

    async fn serves(&self) -> bool {
        let asked = self.scheduler.client.get(format!("{}/health/ready", self.scheduler.url));
        let told = asked.timeout(Duration::from_millis(500)).send().await;
        told.is_ok_and(|told| told.status() == 200)
    }
}

/// What is noted while it goes on.
#[derive(Default)]
struct Noted {
    asked: Mutex<BTreeSet<usize>>,
    promised: Mutex<BTreeSet<usize>>,
    untrue: Mutex<Vec<String>>,
    due: AtomicUsize,
}

/// Asks for a few people of those who fell due last, of whichever machine takes it.
async fn keep_asking(town: &Town, doors: &[Scheduler], dice: &mut Dice, noted: &Noted) {
    loop {
        let due = noted.due.load(Ordering::Relaxed);
        let who: BTreeSet<usize> = (0..3).map(|_| due - 1 - dice.place(due.min(40))).collect();
        noted.asked.lock().extend(&who);
        let body = json!({"mode": "partial", "list": town.entries(who.iter().copied())});
        let first = dice.place(doors.len());
        for door in doors.iter().cycle().skip(first).take(doors.len()) {
            let Some(heard) = door.try_bill(&body).await else { continue };
            // Nothing is wrong with anybody: who is said to be refused was charged by another process.
            if heard.code() == 2 || !heard.failures().is_empty() {
                noted.untrue.lock().push(heard.text.clone());
            }
            let ids = heard.body["data"]["subscriptionIds"].as_array();
            let named = |place: &&usize| {
                ids.is_some_and(|ids| ids.contains(&json!(town.people[**place].subscribe_id)))
            };
            if heard.code() == 1 {
                noted.promised.lock().extend(who.iter().filter(named));
            }
            if heard.status != 503 {
                break;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Which machine serves, once one does. Those whose Signer has ended by itself start it again.
async fn serving(machines: &mut [Machine], but: Option<usize>) -> usize {
    let begun = Instant::now();
    loop {
        let fallen = machines.iter_mut().filter(|machine| machine.signer.is_some());
        join_all(fallen.map(Machine::tend)).await;
        for (place, machine) in machines.iter().enumerate() {
            if Some(place) != but && machine.serves().await {
                return place;
            }
        }
        if begun.elapsed() > Duration::from_secs(90) {
            let logs = machines.iter().filter_map(|machine| machine.signer.as_ref());
            let logs: Vec<String> = logs.map(|signer| last_of(&signer.log())).collect();
            panic!("nobody serves:\n{}", logs.join("\n\n"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn last_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.contains("\"DEBUG\"")).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Tells how long nobody served, and how many processes were killed.
async fn befalls(
    what: Misfortune,
    machines: &mut [Machine],
    postmaster: &Postmaster,
    dice: &mut Dice,
) -> (Duration, u64) {
    let who = serving(machines, None).await;
    tokio::time::sleep(Duration::from_millis(dice.below(400))).await;
    let begun = Instant::now();
    let database = machines[who].installation.database.clone().unwrap();
    let (next, killed) = match what {
        Misfortune::Killed | Misfortune::KilledWithAStandby => {
            let other = (who + 1) % MACHINES.len();
            let standby = (what == Misfortune::KilledWithAStandby).then_some(other);
            let mut killed = 0;
            for place in [Some(who), standby].into_iter().flatten() {
                if let Some(signer) = machines[place].signer.take() {
                    signer.kill();
                    killed += 1;
                }
            }
            (serving(machines, Some(who)).await, killed)
        }
        Misfortune::Stopped => {
            machines[who].signer.as_ref().unwrap().freeze();
            let next = serving(machines, Some(who)).await;
            machines[who].signer.as_ref().unwrap().thaw();
            (next, 0)
        }
        Misfortune::CutOff => {
            machines[who].wire.set_cut(true);
            let next = serving(machines, Some(who)).await;
            machines[who].wire.set_cut(false);
            (next, 0)
        }
        Misfortune::BackendKilled => {
            aside(postmaster, move |_| Postmaster::kill_backend(&database, "writes")).await;
            (serving(machines, None).await, 1)
        }
        Misfortune::ServerRestarted => {
            aside(postmaster, Postmaster::restart).await;
            (serving(machines, None).await, 0)
        }
        Misfortune::ServerKilled => {
            aside(postmaster, move |server| server.kill(&database)).await;
            (serving(machines, None).await, 1)
        }
    };
    let away = begun.elapsed();
    println!("{what:?}: {} and then {} after {away:?}", MACHINES[who], MACHINES[next]);
    (away, killed)
}

async fn aside(server: &Postmaster, work: impl FnOnce(&Postmaster) + Send + 'static) {
    let server = server.clone();
    tokio::task::spawn_blocking(move || work(&server)).await.unwrap();
}

/// How long it took each time, by what had happened.
type Waits = BTreeMap<Misfortune, Vec<Duration>>;

async fn a_town_of_takeovers(
    misfortunes: &[Misfortune],
    waits: &mut Waits,
    seed: u64,
    family: Family,
) -> u64 {
    let mut dice = Dice::new(seed);
    let people = u64::try_from(misfortunes.len() * EACH + 40).unwrap();
    println!("a town on {family:?}");
    let mining = Mining::EverySeconds(1);
    let town = Town::with(Founding { mining, people, ..Founding::on(family) }).await;
    let mut machines = join_all(MACHINES.map(|name| Machine::new(&town, name))).await;
    machines[0].tend().await;
    join_all(machines.iter_mut().map(Machine::tend)).await;
    // One that had never seen the database would take it for an old copy, for as long as a transaction lives.
    eventually("everybody knows it", async || machines.iter().all(Machine::has_joined)).await;
    let (noted, postmaster) = (Noted::default(), Postmaster::given());
    noted.due.store(40, Ordering::Relaxed);
    let doors: Vec<Scheduler> = machines.iter().map(|machine| machine.scheduler.clone()).collect();
    let mut callers: Vec<Dice> = (0..CALLERS).map(|_| Dice::new(dice.below(u64::MAX))).collect();
    let busy = callers.iter_mut().map(|dice| keep_asking(&town, &doors, dice, &noted));
    let mut kills = 0;
    tokio::select! {
        _ = join_all(busy) => {}
        () = async {
            for what in misfortunes {
                let (away, killed) = befalls(*what, &mut machines, &postmaster, &mut dice).await;
                waits.entry(*what).or_default().push(away);
                kills += killed;
                noted.due.fetch_add(EACH, Ordering::Relaxed);
                join_all(machines.iter_mut().map(Machine::tend)).await;
            }
        } => {}
    }
    end(town, machines, &noted).await;
    kills
}

/// Nobody paid twice, nothing is lost, nothing is stuck.
async fn end(town: Town, mut machines: Vec<Machine>, noted: &Noted) {
    assert_eq!(*noted.untrue.lock(), Vec::<String>::new(), "refused, and charged");
    let who = serving(&mut machines, None).await;
    let signer = machines[who].signer.take().unwrap();
    town.quiet(&signer).await;
    let promised = noted.promised.lock().clone();
    for place in 0..town.people.len() {
        let (paid, promised) =
            (town.payments(&town.people[place]).await, promised.contains(&place));
        assert!(paid == 1 || (paid == 0 && !promised), "{place} paid {paid}");
    }
    assert!(!promised.is_empty(), "no caller was ever answered");
    let asked: Vec<usize> = noted.asked.lock().iter().copied().collect();
    for some in asked.chunks(40) {
        let body = json!({"mode": "partial", "list": town.entries(some.iter().copied())});
        eventually("they are billed", async || signer.scheduler.bill(&body).await.code() == 1)
            .await;
    }
    town.quiet(&signer).await;
    let paid: Vec<u128> =
        (0..town.people.len()).map(|place| u128::from(asked.contains(&place))).collect();
    town.assert_paid(&paid).await;
    println!("{} promised, {} asked for, each paid once", promised.len(), asked.len());
    drop(machines);
    town.nothing_is_stuck(signer).await;
}

/// Most are killed: that is the shortest.
fn one_of(dice: &mut Dice) -> Misfortune {
    match dice.below(4) {
        0 => SLICE[dice.place(SLICE.len())],
        _ => Misfortune::KilledWithAStandby,
    }
}

fn report(waits: &mut Waits) {
    for (what, waits) in waits {
        waits.sort();
        let (times, median) = (waits.len(), waits[waits.len() / 2]);
        let longest = waits[times - 1];
        println!(
            "{what:?}, {times} times: another served after {median:.1?} (median), {longest:.1?} (longest)"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a server of its own: ./test --only postgres, ./test --takeovers"]
async fn whoever_is_killed_stopped_or_cut_off_everybody_pays_once() {
    let seed = variable("SEED").map_or_else(unix_seconds, |seed| seed.parse().unwrap());
    let most: u64 = variable("KILLS").map_or(0, |kills| kills.parse().unwrap());
    let (mut waits, mut kills, mut towns) = (Waits::new(), 0, 0);
    println!("SEED={seed} KILLS={most}");
    while kills < most || towns == 0 {
        let mut dice = Dice::new(seed.wrapping_add(towns));
        let misfortunes: Vec<Misfortune> = match most {
            0 => SLICE.to_vec(),
            _ => (0..ROUNDS).map(|_| one_of(&mut dice)).collect(),
        };
        let family = if towns.is_multiple_of(2) { Family::Evm } else { Family::Tron };
        let town = seed.wrapping_add(towns);
        kills += a_town_of_takeovers(&misfortunes, &mut waits, town, family).await;
        towns += 1;
    }
    println!("{kills} kills in {towns} towns");
    report(&mut waits);
}
