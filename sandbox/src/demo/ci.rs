//! A sandbox for the tests of a merchant: on free ports, without a story, with blocks that come fast and time that nothing else
//! moves. It ends with whoever started it, or with the command that it was given.

use super::{Error, Options, addresses, sides, signer};
use sandbox_platform::clock::Clock;
use sandbox_platform::{Options as Setup, Pace, Platform};
use serde_json::Value;
use std::os::unix::process::parent_id;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Pause between blocks if nothing else is asked: a transaction on TRON is final after six of them.
const BEAT: Duration = Duration::from_millis(100);

/// Interval at which the parent and the command are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The variable in which a command finds the addresses and secrets.
const VARIABLE: &str = "SANDBOX";

/// The subscribers of the sandbox, and the command that it lives as long as.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// Number of subscribers from the start, on each chain.
    pub(crate) subscribers: u64,
    /// Number from which subscriptions and orders have their numbers.
    pub(crate) seed: u16,
    /// A program and its arguments; none if the addresses are for the parent.
    pub(crate) command: Vec<String>,
}

/// Serves until the parent or the command ends. False if the command failed.
pub(crate) async fn run(options: Options, service: Service) -> Result<bool, Error> {
    let ends = Ends::new()?;
    let scratch = tempfile::tempdir()?;
    let place = signer::make(scratch.path())?;
    let began_ms = options.clock()?.now_ms();
    let setup = Setup {
        state: None,
        pace: Pace::Fast(options.beat.unwrap_or(BEAT)),
        people: service.subscribers,
        trial: 0,
        seed: service.seed,
        clock: Clock::standing(options.at_ms.unwrap_or(began_ms)),
    };
    let platform = tokio::task::spawn_blocking(move || Platform::found(&setup)).await??;
    platform.finalise().await?;
    platform.wait_for_a_link()?;
    let running = platform.serve(options.ports()).await?;
    let sides = sides::both(&running, &place);
    let (signer, address) = signer::start(&options, &place, &sides, &platform).await?;
    let url = format!("http://{address}");
    let told = addresses(&running, &place.join(signer::CONFIG), Some(&url));
    // The Signer has ended before its directory goes, whatever comes of this.
    let held = async {
        options.tell(&told)?;
        let command = match service.command.split_first() {
            None => None,
            Some((program, arguments)) => Some(start(program, arguments, &told)?),
        };
        ends.wait(command).await
    };
    let held = held.await;
    signer.shutdown().await;
    running.shutdown().await;
    held
}

fn start(program: &str, arguments: &[String], told: &Value) -> Result<Child, Error> {
    let mut command = Command::new(program);
    command.args(arguments).env(VARIABLE, told.to_string());
    command.spawn().map_err(|why| format!("{program}: {why}").into())
}

/// Everything but the command that ends the sandbox, listened for from the start.
struct Ends {
    parent: u32,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Ends {
    fn new() -> Result<Self, Error> {
        Ok(Self {
            parent: parent_id(),
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the end of the command, of the parent, or for a signal. False if the command failed.
    async fn wait(mut self, mut command: Option<Child>) -> Result<bool, Error> {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => break,
                _ = self.interrupt.recv() => break,
                _ = self.hangup.recv() => break,
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Some(status) = ended(&mut command)? {
                return Ok(status.success());
            }
            if parent_id() != self.parent {
                break;
            }
        }
        if let Some(child) = &mut command {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        Ok(true)
    }
}

fn ended(command: &mut Option<Child>) -> Result<Option<ExitStatus>, Error> {
    Ok(command.as_mut().map(Child::try_wait).transpose()?.flatten())
}
