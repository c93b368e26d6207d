#![doc = include_str!("../README.md")]

mod admitted;
mod assign;
mod attempt;
mod carried;
mod claim;
mod coin;
mod cpu_pace;
mod day;
mod decide;
mod doubt;
mod entry;
mod gate;
mod ids;
mod lane_load;
mod order;
mod place_taker;
mod preflight;
mod refusal;
mod repeats;
mod signing_halt;
mod spelling;
mod tx_record;
mod verdict;

pub use admitted::{Admitted, Charge, Values, whole_number};
pub use assign::account_of;
pub use attempt::{
    Attempt, AttemptKind, Attempts, BatchId, BatchState, ChargeTerms, Item, Signed, Slot,
};
pub use carried::{Carried, Undecodable};
pub use claim::{Claim, ClaimState, ClaimedBy, PeriodNaming, Satisfied, Subject};
pub use coin::{Denomination, coin_symbol, coins, decimal, whole};
pub use cpu_pace::{Burnt, CpuPace, PaceRuling, Probe, ProbeResult};
pub use day::utc_day;
pub use decide::{
    Again, FeeStanding, Memory, NodeRejection, Protection, Rules, Sighting, Step, Unsettled,
    next_step,
};
pub use doubt::{
    BlocksSeen, CallsThatCount, Doubt, JournalPast, LastUseSeen, OwnWaiting, PastChecks,
    PastRuling, PastView, UnconfirmedIn, UnconfirmedSeen, doubt, new_lane_is_in_doubt,
};
pub use entry::{BadField, Entry};
pub use gate::{
    AccountView, BlocksRead, Closed, Gap, Gate, LaneView, NonceView, OnlyFollows, PoolView,
    PoolsAsked, Ruling, first_position, rule,
};
pub use ids::{
    AskedBy, CallerKey, CallerLabel, ChargeKey, Family, Ineligible, NamedRequest, Period, PlanId,
    PlatformChainId, RequestId, SubscribeId, UserHash, parse_address, spell_address,
};
pub use lane_load::{Full, InBlocks, LaneLoad};
pub use order::{Mode, NotAdmitted, Order};
pub use place_taker::PlaceTaker;
pub use preflight::{Checked, Funds, Judged, Opinion, judge};
pub use refusal::{FailCode, Refused, Retry};
pub use repeats::{Repeat, repeat_of};
pub use signing_halt::SigningHalt;
pub use spelling::{Digits, Fields, Scalar, Spelling};
pub use tx_record::{CallEnding, TxRecord};
pub use verdict::{
    BlockRef, Execution, Foreign, ForeignEffect, ForeignTx, ItemOutcome, Landed, NoCharge, Opaque,
    PlaceTakers, TakenAsTold, Verdict,
};
