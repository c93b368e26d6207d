//! Time passes: blocks are made, what they tell is written down, and what is due is done.

use super::{Pace, Platform, Side};
use crate::store;
use sandbox_chains::chain::Orphans;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Interval at which a live platform looks for anything that is due.
const BEAT: Duration = Duration::from_millis(200);

/// The length of TRON's slots (ms).
const LONGEST_SLOT_MS: u64 = 3000;

/// Usual number of blocks until a transaction is final: on TRON most of the producers have to stand on it.
const USUAL: u64 = 6;
/// After how many it is no longer waited for: finality stands still.
const MOST: u64 = 100;

/// After how long nobody who looks ten times a second takes what was seen for new.
const FORGOTTEN: Duration = Duration::from_millis(300);

/// Both nodes answer nobody until this is dropped; one that was down before stays down.
struct Silence<'a>(Vec<&'a Side>);

impl<'a> Silence<'a> {
    fn of(platform: &'a Platform) -> Self {
        let up: Vec<&Side> = platform.sides().iter().filter(|side| !side.chain.is_down()).collect();
        for side in &up {
            side.chain.set_down(true);
        }
        Self(up)
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        for side in &self.0 {
            side.chain.set_down(false);
        }
    }
}

impl Platform {
    /// Lets time pass until it is stopped, by the pace that was asked for.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let rest = || {
            let every = match self.pace() {
                Pace::Live | Pace::ByHand => BEAT,
                Pace::Fast(every) => every,
            };
            stop.run_until_cancelled(tokio::time::sleep(every))
        };
        while rest().await.is_some() {
            let done = match self.pace() {
                Pace::Live => self.catch_up().await,
                Pace::Fast(_) => self.blocks(1).await,
                Pace::ByHand => self.deliver_due().await,
            };
            if let Err(error) = done {
                self.say(format!("platform  cannot go on: {error}"));
            }
        }
    }

    /// Makes the blocks whose slots have come, and does what follows.
    pub async fn catch_up(&self) -> Result<(), store::Error> {
        let turn = self.0.turn.lock().await;
        for side in self.sides() {
            let now_ms = self.clock().now_ms();
            if side.chain.next_ms() <= now_ms {
                side.chain.step(now_ms);
            }
        }
        self.follow_all()?;
        drop(turn);
        self.deliver_due().await
    }

    /// Makes blocks on both chains at once, in step with each other; the moved clock goes along where it has to.
    pub async fn blocks(&self, count: u64) -> Result<(), store::Error> {
        let turn = self.0.turn.lock().await;
        for _ in 0..count {
            self.step_both();
            self.follow_all()?;
        }
        drop(turn);
        self.deliver_due().await
    }

    /// Lets a moment pass in which a block may come; where blocks are made by hand, makes one.
    pub(crate) async fn await_block(&self) -> Result<(), store::Error> {
        match self.pace() {
            Pace::ByHand => self.blocks(1).await,
            Pace::Live | Pace::Fast(_) => {
                tokio::time::sleep(BEAT).await;
                Ok(())
            }
        }
    }

    /// Makes blocks until what waits now is final on both chains, and sends what follows.
    pub async fn finalise(&self) -> Result<(), store::Error> {
        self.blocks(1).await?;
        let heads = self.sides().each_ref().map(|side| side.chain.head().number);
        let open = || {
            let mut sides = self.sides().iter().zip(heads);
            sides.any(|(side, head)| side.chain.solid().number < head)
        };
        for _ in 0..MOST {
            if !open() {
                break;
            }
            self.blocks(1).await?;
        }
        Ok(())
    }

    /// Moves the clock on. Returns when every callback that falls due meanwhile was sent at its time, and when both chains
    /// are at the new time, with what waited at the old time final.
    ///
    /// Nodes answer nobody meanwhile, and for long enough that whoever looks at them ten times a second has no head of the old
    /// time in mind when they do: a deadline that counts from such a head has passed by the new time.
    pub async fn advance(&self, by: Duration) -> Result<(), store::Error> {
        let until_ms = self.clock().now_ms() + u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.blocks(1).await?; // what waits is of the old time
        let (silence, began) = (Silence::of(self), tokio::time::Instant::now());
        self.jump(until_ms).await?;
        if self.pace() != Pace::ByHand {
            tokio::time::sleep_until(began + FORGOTTEN).await;
        }
        drop(silence);
        Ok(())
    }

    async fn jump(&self, until_ms: u64) -> Result<(), store::Error> {
        while let Some(next_ms) = self.store().next_try_ms()?.filter(|next| *next <= until_ms) {
            self.clock().reach(next_ms);
            self.deliver_due().await?;
        }
        self.clock().reach(until_ms.saturating_sub(USUAL * LONGEST_SLOT_MS));
        self.finalise().await?;
        if self.sides().iter().any(|side| side.chain.head().time_ms < until_ms) {
            self.blocks(1).await?;
        }
        Ok(())
    }

    /// A block on each chain: TRON's slots are the longer ones, and Ethereum keeps its time.
    fn step_both(&self) {
        let next_ms = self.sides().iter().map(|side| side.chain.next_ms()).max();
        self.clock().reach(next_ms.unwrap_or_default());
        let now_ms = self.clock().now_ms();
        for side in self.sides() {
            side.chain.step(now_ms);
        }
    }

    /// Writes down what the chains tell, and does what follows from it on the chains.
    pub(super) fn follow_all(&self) -> Result<(), store::Error> {
        for side in self.sides() {
            self.follow(side)?;
            self.tell_final(side)?;
            self.pay_out(side)?;
        }
        self.keep_time()
    }

    fn keep_time(&self) -> Result<(), store::Error> {
        self.store().set("ahead_ms", &self.clock().ahead_ms().to_string())
    }

    /// Takes blocks away that are not final, and gives how many. `orphans` says what becomes of their transactions.
    pub async fn reorganise(
        &self,
        side: &Side,
        depth: u64,
        orphans: Orphans,
    ) -> Result<u64, store::Error> {
        let turn = self.0.turn.lock().await;
        let removed = side.chain.reorg(depth, orphans);
        self.follow_all()?;
        drop(turn);
        self.say(format!("chain     {}: {removed} blocks reorganised", side.name()));
        Ok(removed)
    }
}
