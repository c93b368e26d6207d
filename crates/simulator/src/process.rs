//! One process: the Signer, assembled by the product itself, in a runtime of its own that ends when the process is
//! killed. The dice decide which tasks run beside each other, through how long answers take.

use crate::broken_journals;
use crate::callers::{Heard, Named, Refusal, Request, word};
use crate::clock;
use crate::dice::Fault;
use crate::disk::SimDisk;
use crate::exchange::Cable;
use crate::key_stores::Stores;
use crate::laws;
use crate::mutants::Mutant;
use crate::world::{Kind, Shared, Side, World};
use alloy::primitives::B256;
use axum::Router;
use axum::body::Body;
use config::{Config, JournalConfig, JournalPlace};
use http_body_util::BodyExt as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use journal::{Journal, OpenError, Served, Setup, Turn, Writer};
use merchant_signer::app::{Assembled, Machine, Sockets, StartError, assemble};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The answers that callers have heard, by the number of the request.
pub(crate) type Answers = Arc<Mutex<Vec<Told>>>;

/// The answer that one caller has heard.
#[derive(Debug)]
pub(crate) struct Told {
    /// The number of the request.
    pub(crate) number: u64,
    pub(crate) heard: Heard,
    /// True if a question to that chain went wrong meanwhile.
    pub(crate) disturbed: bool,
}

/// The health of the chains, as `/health/ready` tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    /// Status of each chain: "ok", or what is the matter.
    pub(crate) status: BTreeMap<u64, String>,
    /// Number of batches that are not decided.
    pub(crate) undecided: u64,
}

/// Takes the journal away from a process, as a server does that ends its sessions.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    cut: Notify,
    gone: Notify,
}

/// A Signer that is starting or at work.
pub(crate) struct Process {
    world: Shared,
    /// Which one it is.
    pub(crate) life: u64,
    fence: Arc<Fence>,
    starting: Option<JoinHandle<Result<Assembled, StartError>>>,
    router: Option<Router>,
    answers: Answers,
    tasks: TaskTracker,
}

impl Process {
    /// Begins to start, inside a runtime.
    pub(crate) fn start(world: &Shared, config: Config, answers: &Answers) -> Self {
        let life = {
            let mut world = world.lock();
            world.life += 1;
            world.dead = false;
            world.note("both", "started", 0);
            let wrong = world.scene.clock_ms;
            world.clock_ms = [wrong, wrong, 0, -wrong][world.dice.place(4)];
            clock::begin(world.machine_ms());
            let (life, now_ms) = (world.life, world.now_ms);
            world.watch.start(life, now_ms);
            life
        };
        let cable = Cable { world: Arc::clone(world), life };
        let stores = Stores { world: Arc::clone(world), life };
        let shared = Arc::clone(world);
        let tasks = TaskTracker::new();
        let writers = tasks.clone();
        let fence = Arc::<Fence>::default();
        let fenced = Arc::clone(&fence);
        let starting = tasks.spawn(async move {
            let open = |place: &JournalPlace, _: Setup| {
                let file = place.file().expect("a simulated journal is a file");
                open(file, &shared, life, &writers, &fenced).map(Turn::Now)
            };
            let machine =
                Machine { dial: &cable, clock: clock::CLOCK, keys: &stores, journal: &open };
            assemble(config, machine, &mut Sockets::default()).await
        });
        let (world, answers) = (Arc::clone(world), Arc::clone(answers));
        Self { world, life, fence, starting: Some(starting), router: None, answers, tasks }
    }

    /// Takes its journal away. All else of it goes on.
    pub(crate) async fn cut_off(&self) {
        self.fence.cut.notify_one();
        self.fence.gone.notified().await;
    }

    /// Puts it to work once it has started. An error is why it did not start.
    pub(crate) async fn settle_in(&mut self) -> Result<(), String> {
        let Some(starting) = self.starting.take() else { return Ok(()) };
        if !starting.is_finished() {
            self.starting = Some(starting);
            return Ok(());
        }
        let assembled = starting.await.map_err(|error| error.to_string())?;
        let assembled = assembled.map_err(|error| error.to_string())?;
        for watcher in assembled.watchers {
            self.tasks.spawn(watcher.run(CancellationToken::new()));
        }
        self.router = Some(assembled.router);
        Ok(())
    }

    /// Returns true if the process has started.
    pub(crate) fn is_at_work(&self) -> bool {
        self.router.is_some()
    }

    /// Takes a request, if it is at work.
    pub(crate) fn take(&self, request: Request) -> bool {
        let Some(router) = self.router.clone() else { return false };
        let (world, answers) = (Arc::clone(&self.world), Arc::clone(&self.answers));
        let life = self.life;
        self.tasks.spawn(async move {
            let (token, asked_ms) = {
                let world = world.lock();
                let token = match request.side {
                    Side::Evm => world.evm_at.token,
                    Side::Tron => world.tron_at.token,
                };
                (token, world.now_ms)
            };
            let (status, said) = ask(router, request.path(), Some(request.body(token))).await;
            let heard = Request::read(status, &said);
            let mut world = world.lock();
            let world = &mut *world;
            if !world.is_alive(life) {
                return;
            }
            let heard = told_wrong(world, heard);
            let heard = heard.after(&mut world.told);
            world.note(request.side.name(), word(&heard), request.number);
            if world.log.talkative {
                world.log.lines.push(format!("             {}", said["msg"]));
            }
            let mut asked = laws::of_an_answer(&request, &heard, world)
                .and_then(|()| world.unproven_is_told(&request, &heard, asked_ms, life));
            for named in request.earlier(&said) {
                let named = told_of_another(world, named);
                asked = asked.and_then(|()| laws::of_what_is_named(&named, world));
                world.named.push(named);
            }
            if let Err(law) = asked {
                world.broken.get_or_insert(law);
            }
            if let Some(raw) = said["data"]["signedTransactionData"].as_str()
                && let Ok(raw) = alloy::hex::decode(raw)
            {
                world.handed_out.push((request.side, raw, world.now_ms));
            }
            // Others wait for a block before it: that passes.
            let full = said["msg"].as_str().is_some_and(|words| words.contains("max_in_flight"));
            let stale = world.life != life;
            let disturbed = stale || full || world.disturbed_ms[request.side.place()] >= asked_ms;
            answers.lock().push(Told { number: request.number, heard, disturbed });
        });
        true
    }

    /// Returns the answer of `/health/ready`; nothing before the process is at work.
    pub(crate) async fn health(&self) -> Option<Health> {
        let router = self.router.clone()?;
        let (_, said) = ask(router, "/health/ready", None).await;
        let mut health = Health::default();
        for chain in said["chains"].as_array().into_iter().flatten() {
            let status = chain["status"].as_str().unwrap_or_default().to_owned();
            health.status.insert(chain["chainId"].as_u64().unwrap_or(0), status);
            health.undecided += chain["undecided"].as_u64().unwrap_or(0);
        }
        if self.world.lock().breaks(Mutant::AlwaysReady) {
            health.status.values_mut().for_each(|status| "ok".clone_into(status));
        }
        Some(health)
    }
}

/// Returns the answer that a caller hears if the rules of answers are broken.
fn told_wrong(world: &mut World, heard: Heard) -> Heard {
    let paid = world.breaks(Mutant::InProgressIsPaid);
    let (hash, subscriptions, failed, repeated) = match heard {
        Heard::Sent { hash, subscriptions, failed, repeated } => {
            (hash, subscriptions, failed, repeated)
        }
        Heard::Disagreed | Heard::TooFew if world.breaks(Mutant::OneRefuses) => {
            return Heard::Refused(vec![Refusal::poor()]);
        }
        Heard::Refused(list) if paid => return Heard::Refused(said_to_be_paid(list)),
        Heard::Refused(_)
        | Heard::NothingDone(_)
        | Heard::TooFew
        | Heard::Disagreed
        | Heard::TooMany => return heard,
    };
    if std::mem::take(&mut world.denied) {
        return Heard::NothingDone(503);
    }
    let cancel = world.durable.iter().find(|(_, kind)| **kind == Kind::Cancel);
    let hash = match (world.mutant, cancel) {
        (Some(Mutant::NamesAnother), _) => B256::repeat_byte(7),
        (Some(Mutant::NamesCancel), Some((cancel, _))) => *cancel,
        (Some(_) | None, _) => hash,
    };
    if paid {
        let list = subscriptions.iter().map(|id| Refusal::paid(*id)).collect();
        return if world.told.contains(&hash) {
            Heard::Refused(list)
        } else {
            Heard::Sent { hash, subscriptions, failed, repeated }
        };
    }
    Heard::Sent { hash, subscriptions, failed, repeated }
}

/// Returns what a caller hears of an earlier transaction if that rule is broken.
fn told_of_another(world: &World, named: Named) -> Named {
    match world.mutant {
        Some(Mutant::NamesAnotherEarlier) => Named { hash: B256::repeat_byte(7), ..named },
        Some(Mutant::OpenIsCharged) => Named { charged: true, ..named },
        Some(_) | None => named,
    }
}

/// Turns the refusals of customers in progress into refusals of paid ones.
fn said_to_be_paid(list: Vec<Refusal>) -> Vec<Refusal> {
    let one = |refusal: Refusal| match refusal.code.as_str() {
        "BILLING_IN_PROGRESS" | "OUTCOME_UNKNOWN" => Refusal::paid(refusal.customer),
        _ => refusal,
    };
    list.into_iter().map(one).collect()
}

async fn ask(router: Router, path: &str, body: Option<Value>) -> (u16, Value) {
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    let request = hyper::Request::builder().method(method).uri(path).body(body);
    let request = request.expect("the request is well-formed");
    let Ok(response) = TowerToHyperService::new(router).call(request).await;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    (status, bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// Opens the journal on the simulated disk. Its writer is a task of this runtime.
fn open(
    config: &JournalConfig,
    world: &Shared,
    life: u64,
    tasks: &TaskTracker,
    fence: &Arc<Fence>,
) -> Result<Journal, OpenError> {
    let disk = Box::new(SimDisk { world: Arc::clone(world), life });
    let (journal, writer) = Journal::with_writer(config, clock::CLOCK, disk)?;
    writer.change(|conn| broken_journals::mutate(world, conn));
    tasks.spawn(serve(writer, Arc::clone(world), Arc::clone(fence)));
    Ok(journal)
}

/// Does what the journal is asked for, until it is closed or taken away.
pub(crate) async fn serve(mut writer: Writer, world: Shared, fence: Arc<Fence>) {
    loop {
        let served = tokio::select! {
            biased;
            () = fence.cut.notified() => {
                drop(writer);
                return fence.gone.notify_one();
            }
            served = turn(&mut writer, &world) => served,
        };
        match served {
            Served::Going => {}
            Served::Closed => return,
            // The process ends here. The file stays as it is until the runtime goes.
            Served::Unknown => {
                world.lock().kill();
                return std::future::pending().await;
            }
        }
    }
}

async fn turn(writer: &mut Writer, world: &Shared) -> Served {
    let slow = {
        let mut world = world.lock();
        if world.goes_round() {
            return Served::Unknown;
        }
        if world.fault("both", Fault::SlowJournal) { 1 + world.dice.below(300) } else { 0 }
    };
    if slow > 0 {
        sleep(Duration::from_millis(slow)).await;
    }
    writer.turn().await
}
