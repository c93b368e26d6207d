//! One message is judged once: the same signed bytes get the answer that the first got, or wait for it.
//!
//! Remembers every signature for as long as its time lies in the window, in memory. A message signed before the
//! start, or before anything that is forgotten, is refused: nothing here tells if the message was answered. A
//! process that ends as it should leaves the messages that it has judged to the next. The answers are kept as far
//! as there is room; the signatures always are, except of messages that nothing was done for because there was too
//! much to do. Each caller has an equal share of the room: a caller that fills its own share takes nothing from
//! another. A message is known by its signature alone, in any share: a caller that gets another label stays known.

use super::{AuthError, CLOCK_WINDOW_SECONDS, JudgedMessages, Proven};
use config::Caller;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::watch;

/// Number of messages remembered: more than 4000 a second all the time.
const MOST: usize = 1 << 18;

/// Size of an answer beside its text, bytes: four entries in collections, its headers, and the room between.
const OVERHEAD: usize = 512;

/// Greatest size of the answers kept, bytes.
const MOST_BYTES: usize = 32 << 20;

/// The messages of the last minutes, with their answers.
#[derive(Debug)]
pub struct Replays<A>(Arc<Mutex<Messages<A>>>);

/// A message, and in whose share it is; none of those that another process left.
type SignOfCaller = ([u8; 32], Option<Arc<Caller>>);

#[derive(Debug)]
struct Messages<A> {
    /// Nothing signed earlier is taken, Unix seconds.
    oldest: i64,
    answers: HashMap<[u8; 32], Stored<A>>,
    /// The same messages by when they were signed, each with whose it is.
    by_time: BTreeMap<i64, Vec<SignOfCaller>>,
    /// Share of the room that each caller has, by its label.
    shares: HashMap<String, Share>,
    /// Number of callers that share the room.
    callers: usize,
    most: usize,
    most_bytes: usize,
}

/// The part of the room that one caller uses.
#[derive(Debug, Default)]
struct Share {
    messages: usize,
    /// Those whose answers are kept, oldest first, with the answers' sizes.
    kept: VecDeque<([u8; 32], usize)>,
    kept_bytes: usize,
}

/// The answer to a message so far.
#[derive(Clone, Debug)]
pub enum Answer<A> {
    /// The message is being judged.
    Pending,
    /// The sender has heard this.
    Given(A),
    /// The message was answered, or its judging was cut short, and nobody here knows the words any more.
    Forgotten,
}

/// An answer, or whoever will give it.
#[derive(Clone, Debug)]
enum Stored<A> {
    Pending(watch::Receiver<Answer<A>>),
    /// No channel: of a message that nobody waits for, a channel would be the greater part.
    Known(Answer<A>),
}

/// The handling of a message.
#[derive(Debug)]
pub enum Judging<A> {
    /// It is new: judge it, and answer the ticket.
    New(Ticket<A>),
    /// It was here before.
    Again(Waiting<A>),
    /// It is new, and no more of its caller can be remembered now. Not judged.
    Full,
}

/// The duty to answer a message. Dropped without an answer, the message counts as answered all the
/// same, and is not judged again.
#[derive(Debug)]
pub struct Ticket<A> {
    memory: Arc<Mutex<Messages<A>>>,
    sign: [u8; 32],
    caller: Arc<Caller>,
    place: watch::Sender<Answer<A>>,
}

/// The answer to a message that is, or was, judged elsewhere.
#[derive(Debug)]
pub struct Waiting<A>(Stored<A>);

impl<A: Clone> Replays<A> {
    /// Remembers nothing yet, and takes nothing that was signed before `start` (Unix seconds).
    pub fn new(start: i64) -> Self {
        Self::holding(start, MOST, MOST_BYTES)
    }

    fn holding(oldest: i64, most: usize, most_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Messages {
            oldest,
            answers: HashMap::new(),
            by_time: BTreeMap::new(),
            shares: HashMap::new(),
            callers: 1,
            most,
            most_bytes,
        })))
    }

    /// Goes on where the process before this one ended: what it has judged was here before, and what was
    /// signed while it remembered everything may be taken.
    pub fn take_over(&self, judged: JudgedMessages) {
        let mut memory = self.0.lock();
        memory.oldest = memory.oldest.min(judged.oldest);
        for (at, sign) in judged.signs {
            memory.answers.insert(sign, Stored::Known(Answer::Forgotten));
            memory.by_time.entry(at).or_default().push((sign, None));
        }
    }

    /// Has so many callers share the room from now on.
    pub fn share_among(&self, callers: usize) {
        self.0.lock().callers = callers.max(1);
    }

    /// Returns the messages that the process after this one has to know. Call this when nothing is begun any more.
    pub fn judged(&self, now_unix_seconds: i64) -> JudgedMessages {
        let mut memory = self.0.lock();
        memory.forget_before(now_unix_seconds);
        let seconds = memory.by_time.iter();
        let signs = seconds.flat_map(|(at, signs)| signs.iter().map(|(sign, _)| (*at, *sign)));
        // Of messages that were given back only the time is left.
        let signs = signs.filter(|(_, sign)| memory.answers.contains_key(sign)).collect();
        JudgedMessages { at: now_unix_seconds, oldest: memory.oldest, signs }
    }

    /// Nothing signed before that is taken, Unix seconds.
    pub fn oldest(&self) -> i64 {
        self.0.lock().oldest
    }

    /// Checks that a message of that time may be taken at all; can be asked before the message is proven.
    pub fn check_age(&self, timestamp: i64) -> Result<(), AuthError> {
        self.0.lock().check_age(timestamp)
    }

    /// Forgets what nobody can ask again at a moment (Unix seconds): while nothing is signed, too.
    pub fn forget(&self, now_unix_seconds: i64) {
        self.0.lock().forget_before(now_unix_seconds);
    }

    /// Takes note of a message at a moment (Unix seconds).
    pub fn begin(&self, message: &Proven, now_unix_seconds: i64) -> Result<Judging<A>, AuthError> {
        let mut memory = self.0.lock();
        memory.forget_before(now_unix_seconds);
        let timestamp = message.at_unix_seconds;
        memory.check_age(timestamp)?;
        if let Some(place) = memory.answers.get(&message.sign) {
            return Ok(Judging::Again(Waiting(place.clone())));
        }
        let most = memory.most.div_euclid(memory.callers);
        let share = memory.shares.entry(message.caller.label.clone()).or_default();
        if share.messages >= most {
            return Ok(Judging::Full);
        }
        share.messages = share.messages.saturating_add(1);
        let (sender, receiver) = watch::channel(Answer::Pending);
        memory.answers.insert(message.sign, Stored::Pending(receiver));
        let caller = Arc::clone(&message.caller);
        let of_the_second = memory.by_time.entry(timestamp).or_default();
        of_the_second.push((message.sign, Some(Arc::clone(&caller))));
        drop(memory);
        let memory = Arc::clone(&self.0);
        Ok(Judging::New(Ticket { memory, sign: message.sign, caller, place: sender }))
    }
}

impl<A> Messages<A> {
    fn check_age(&self, timestamp: i64) -> Result<(), AuthError> {
        let oldest = self.oldest;
        if timestamp < oldest { Err(AuthError::TooOld { timestamp, oldest }) } else { Ok(()) }
    }

    /// Forgets what the window refuses by now. A clock that is put back does not make it new again.
    fn forget_before(&mut self, now_unix_seconds: i64) {
        let window = CLOCK_WINDOW_SECONDS;
        let out = now_unix_seconds.saturating_sub(window);
        while let Some(entry) = self.by_time.first_entry().filter(|entry| *entry.key() < out) {
            let (timestamp, signs) = entry.remove_entry();
            self.oldest = self.oldest.max(timestamp.saturating_add(1));
            for (sign, caller) in signs {
                if self.answers.remove(&sign).is_some()
                    && let Some(caller) = caller
                {
                    self.give_back(&caller);
                }
            }
        }
        let Self { answers, shares, .. } = self;
        shares.retain(|_, share| {
            share.forget_all_but(answers);
            share.messages > 0
        });
    }

    /// The caller has one message fewer.
    fn give_back(&mut self, caller: &Caller) {
        if let Some(share) = self.shares.get_mut(&caller.label) {
            share.messages = share.messages.saturating_sub(1);
        }
    }
}

impl Share {
    fn forget_all_but<A>(&mut self, answers: &HashMap<[u8; 32], Stored<A>>) {
        // Nearly in the order of their times: what is left behind a younger one is small, and goes with it.
        while let Some((sign, bytes)) = self.kept.front().copied()
            && !answers.contains_key(&sign)
        {
            self.kept.pop_front();
            self.kept_bytes = self.kept_bytes.saturating_sub(bytes);
        }
    }
}

impl<A: Clone> Ticket<A> {
    /// Tells those who wait with it that the message was not judged, in these words. Sent again, it is new.
    pub fn give_back(self, answer: A) {
        self.place.send_replace(Answer::Given(answer));
        let mut memory = self.memory.lock();
        if memory.answers.remove(&self.sign).is_some() {
            memory.give_back(&self.caller);
        }
    }

    /// Answers the message, in `bytes` bytes of memory, and everybody who waits with it.
    pub fn answer(self, answer: A, bytes: usize) {
        self.place.send_replace(Answer::Given(answer.clone()));
        let mut memory = self.memory.lock();
        // Judged for so long that its time is over: nobody can ask again.
        let Some(place) = memory.answers.get_mut(&self.sign) else { return };
        *place = Stored::Known(Answer::Given(answer));
        let bytes = bytes.saturating_add(OVERHEAD);
        let Messages { answers, shares, callers, most_bytes, .. } = &mut *memory;
        let Some(share) = shares.get_mut(&self.caller.label) else { return };
        share.kept.push_back((self.sign, bytes));
        share.kept_bytes = share.kept_bytes.saturating_add(bytes);
        while share.kept_bytes > most_bytes.div_euclid(*callers)
            && let Some((sign, bytes)) = share.kept.pop_front()
        {
            share.kept_bytes = share.kept_bytes.saturating_sub(bytes);
            if let Some(place) = answers.get_mut(&sign) {
                *place = Stored::Known(Answer::Forgotten);
            }
        }
    }
}

impl<A: Clone> Waiting<A> {
    /// Returns the result for the message, once that is known.
    pub async fn answer(self) -> Answer<A> {
        let mut place = match self.0 {
            Stored::Pending(place) => place,
            Stored::Known(answered) => return answered,
        };
        let known = place.wait_for(|answered| !matches!(answered, Answer::Pending)).await;
        known.map_or(Answer::Forgotten, |answered| answered.clone())
    }
}

#[cfg(test)]
mod tests;
