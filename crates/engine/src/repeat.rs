//! The part of a request that earlier requests have claimed: answered from the journal, without asking the chain.

use super::lane::Lane;
use super::verdict::{Answer, DryRun, NamedTransaction, NoVerdict, Progress, Sent, Stop};
use billing::{
    Admitted, AskedBy, BatchId, BatchState, ClaimState, NamedRequest, Order, Period, Refused,
    Repeat, Satisfied, Subject, repeat_of,
};
use journal::{AcceptError, Billing, ClaimScope, JournalError, Recorded, RequestStanding};
use tracing::warn;

/// The caller and its request, and the answer to a request for which nothing is signed.
pub(super) struct Asked {
    /// The request, where its caller gave it a name.
    pub(super) request: Option<NamedRequest>,
    /// The caller.
    pub(super) caller: Option<AskedBy>,
    dry_run: bool,
}

impl Asked {
    /// Returns the caller and request of `order`.
    pub(super) fn by(lane: &Lane, order: &Order<Admitted>) -> Self {
        let request = order.named(lane.chain.facts().id);
        Self { request, caller: order.caller.clone(), dry_run: order.dry_run }
    }

    /// Refuses a request whose name its caller has given to other entries.
    pub(super) async fn is_one_request(&self, lane: &Lane) -> Result<(), NoVerdict> {
        let Some(request) = &self.request else { return Ok(()) };
        match lane.journal.request_standing(request.clone(), vec![]).await? {
            RequestStanding::Taken => Err(AcceptError::RequestTaken.into()),
            RequestStanding::New | RequestStanding::Known => Ok(()),
        }
    }

    /// The answer to a request of which nothing is charged now.
    pub(super) async fn refused(
        &self,
        lane: &Lane,
        refused: Vec<Refused>,
        earlier: Vec<Satisfied>,
    ) -> Stop {
        if self.dry_run {
            return Self::dry_run(lane, refused, earlier);
        }
        if let Err(taken) = self.named(lane, &earlier).await {
            return Stop::NoVerdict(taken);
        }
        // The reason against a charge may be that another process has charged it since its claims were read.
        match lane.journal.instances().none_has_begun().await {
            Ok(()) => Stop::Answer(Answer::Refused(refused, earlier)),
            Err(lost) => Stop::NoVerdict(lost.into()),
        }
    }

    /// A dry run says what would be charged, and never that something was sent.
    fn dry_run(lane: &Lane, refused: Vec<Refused>, earlier: Vec<Satisfied>) -> Stop {
        Stop::Answer(Answer::DryRun(DryRun {
            facts: lane.chain.facts().clone(),
            would_charge: vec![],
            refused,
            earlier,
            gas_required: None,
        }))
    }

    /// Writes down, before the answer is given, which batches it names: a status request with the name
    /// finds them. Costs a commit only where the journal does not know that yet. The answer is as true
    /// when it cannot be written.
    async fn named(&self, lane: &Lane, earlier: &[Satisfied]) -> Result<(), NoVerdict> {
        let Some(request) = self.request.as_ref().filter(|_| !earlier.is_empty()) else {
            return Ok(());
        };
        let batches: Vec<BatchId> = earlier.iter().map(|satisfied| satisfied.by.batch).collect();
        let standing = lane.journal.request_standing(request.clone(), batches.clone()).await?;
        if standing == RequestStanding::Known {
            return Ok(());
        }
        match lane.journal.name_request(request.clone(), batches).await {
            Err(taken @ AcceptError::RequestTaken) => Err(taken.into()),
            Err(error) => {
                let request = request.id.as_str();
                warn!(request, %error, "the name of a repeated request could not be written down");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// The answer to a request all of which live batches hold; the newest of them is named first.
    async fn repeated(
        &self,
        lane: &Lane,
        newest: BatchId,
        satisfied: Vec<Satisfied>,
    ) -> Result<Stop, JournalError> {
        if self.dry_run {
            return Ok(Self::dry_run(lane, vec![], satisfied));
        }
        let billing = lane.journal.billing(newest).await?.ok_or(JournalError::Lost)?;
        let Some(progress) = progress(&billing, &satisfied) else { return Ok(Stop::Again) };
        if let Err(taken) = self.named(lane, &satisfied).await {
            return Ok(Stop::NoVerdict(taken));
        }
        // A billing of another process, whose COMMIT is under way, is as good as none.
        lane.journal.instances().none_has_begun().await?;
        let of_newest = |one: &Satisfied| one.by.batch == newest;
        let (named, earlier): (Vec<_>, Vec<_>) = satisfied.into_iter().partition(of_newest);
        Ok(Stop::Answer(Answer::Sent(Sent {
            family: billing.network.family,
            origin: billing.origin,
            transaction: match billing.current() {
                Recorded::Signed(attempt) => NamedTransaction::Signed(attempt.get().signed.clone()),
                Recorded::Learnt(hash) => NamedTransaction::Learnt(*hash),
            },
            progress,
            subscriptions: named.into_iter().map(|one| one.spelling).collect(),
            failed: vec![],
            earlier,
        })))
    }
}

/// Returns the progress of a batch. None if the batch has come further since its claims were read.
fn progress(billing: &Billing, satisfied: &[Satisfied]) -> Option<Progress> {
    let (progress, state) = match (billing.state, billing.block) {
        (BatchState::Open, _) => (Progress::Open, ClaimState::Open),
        // A batch whose place was used up holds claims because a person said that they were charged.
        (BatchState::Charged | BatchState::Usurped, Some(block)) => {
            (Progress::Charged(block), ClaimState::Charged)
        }
        (
            BatchState::Charged
            | BatchState::Reverted
            | BatchState::Cancelled
            | BatchState::Usurped
            | BatchState::Expired,
            _,
        ) => return None,
    };
    let mut held = satisfied.iter().filter(|one| one.by.batch == billing.batch);
    held.all(|one| one.by.state == state).then_some(progress)
}

/// Returns the part of the order that nobody has claimed; `period` tells the period of an entry as far as it is
/// known. Stops with an answer when nothing is left.
pub(super) async fn unclaimed(
    lane: &Lane,
    asked: &Asked,
    order: Order<Admitted>,
    period: impl Fn(&Admitted) -> Option<Period>,
) -> Result<Order<Admitted>, Stop> {
    let subject = |entry: &Admitted| Subject {
        subscribe: entry.subscribe,
        plan: entry.plan,
        user: entry.user,
        period: period(entry),
    };
    let subjects = order.entries.iter().map(subject).collect();
    let facts = lane.chain.facts();
    // Unknown time is early time: no guard has run out yet.
    let chain_time = lane.head().map_or(0, |head| head.final_time);
    let scope = ClaimScope { chain: facts.id, contract: facts.contract, chain_time };
    let claims = lane.journal.claims(scope, subjects).await?;
    match repeat_of(order, &claims) {
        Repeat::Of(newest, satisfied) => Err(asked.repeated(lane, newest, satisfied).await?),
        Repeat::Refused(refused, earlier) => Err(asked.refused(lane, refused, earlier).await),
        Repeat::Fresh(order) => Ok(order),
    }
}
