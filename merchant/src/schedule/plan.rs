//! The batches of due subscriptions: one chain each, within the Signer's limits, with request ids that come out the
//! same when a crash makes the scheduler plan again, and at no other time.

use super::entry::Due;
use crate::digest::short;
use sha2::{Digest as _, Sha256};

/// The Signer's limits for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Entries.
    pub(crate) entries: usize,
    /// Bytes of the body.
    pub(crate) bytes: usize,
}

/// One member of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) due: Due,
    /// Number of plans that held this subscription before: it makes the subscription's next request another
    /// request.
    pub(crate) plans: u32,
}

/// A request to the Signer, before it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) chain: i64,
    pub(crate) request_id: String,
    /// The bytes that are posted, and posted again.
    pub(crate) body: String,
    pub(crate) ids: Vec<i64>,
}

/// Splits the due subscriptions of one chain, for the state file with this identity. The order of the
/// list does not matter.
pub(crate) fn drafts(
    identity: i64,
    chain: i64,
    mut due: Vec<Member>,
    limits: Limits,
) -> Vec<Draft> {
    due.sort_by_key(|member| member.due.id);
    due.dedup_by_key(|member| member.due.id);
    let mut drafts = vec![];
    let (mut group, mut bytes) = (vec![], 0_usize);
    for member in due {
        let length = member.due.text.len().saturating_add(1);
        let full = group.len() >= limits.entries.max(1)
            || bytes.saturating_add(length) > limits.bytes.saturating_sub(ENVELOPE);
        if full && !group.is_empty() {
            drafts.push(draft(identity, chain, &std::mem::take(&mut group)));
            bytes = 0;
        }
        bytes = bytes.saturating_add(length);
        group.push(member);
    }
    if !group.is_empty() {
        drafts.push(draft(identity, chain, &group));
    }
    drafts
}

/// Room for everything in the body but the entries.
const ENVELOPE: usize = 128;

fn draft(identity: i64, chain: i64, members: &[Member]) -> Draft {
    let request_id = request_id(identity, chain, members);
    let list: Vec<&str> = members.iter().map(|member| member.due.text.as_str()).collect();
    let body =
        format!(r#"{{"requestId":"{request_id}","mode":"partial","list":[{}]}}"#, list.join(","));
    Draft { chain, request_id, body, ids: members.iter().map(|member| member.due.id).collect() }
}

/// The Signer keeps a request id for ever, with the entries that it stands for. So the id depends on
///
/// * the identity of the state file: a new file, whose counters begin anew, repeats no id of a lost one;
/// * the number of plans that held each subscription: no two plans of one file share an id;
/// * the entries themselves: an older copy of the file, whose counters have gone back, gives an id a
///   second time only to the same entries.
///
/// A plan that a crash swallowed comes out again with the same id.
fn request_id(identity: i64, chain: i64, members: &[Member]) -> String {
    let mut digest = Sha256::new();
    digest.update(identity.to_be_bytes());
    digest.update(chain.to_be_bytes());
    for member in members {
        digest.update(member.due.id.to_be_bytes());
        digest.update(member.plans.to_be_bytes());
        digest.update(Sha256::digest(&member.due.text));
    }
    format!("due-{chain}-{}", short(digest))
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests {
    use super::super::terms::Terms;
    use super::*;
    use proptest::prelude::*;

    fn member(id: i64, length: usize, plans: u32) -> Member {
        let text = format!(r#"{{"subscribeId":{id},"x":"{}"}}"#, "y".repeat(length));
        let due = Due {
            chain: 1,
            id,
            plan: None,
            wallet: None,
            trade_no: None,
            terms: Terms::default(),
            text,
        };
        Member { due, plans }
    }

    fn members() -> impl Strategy<Value = Vec<Member>> {
        let one = (0..500_i64, 0..300_usize, 0..3_u32);
        prop::collection::vec(one, 0..120).prop_map(|all| {
            all.into_iter().map(|(id, len, plans)| member(id, len, plans)).collect()
        })
    }

    proptest! {
        #[test]
        fn everybody_is_in_exactly_one_batch_within_the_limits(
            due in members(), entries in 1..40_usize, bytes in 600..4000_usize,
        ) {
            let drafts = drafts(7, 1, due.clone(), Limits { entries, bytes });
            let mut wanted: Vec<i64> = due.iter().map(|member| member.due.id).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let posted: Vec<i64> = drafts.iter().flat_map(|draft| draft.ids.clone()).collect();
            prop_assert_eq!(posted, wanted);
            for draft in drafts {
                prop_assert!(draft.ids.len() <= entries && draft.body.len() <= bytes);
                let body: serde_json::Value = serde_json::from_str(&draft.body).unwrap();
                prop_assert_eq!(body["list"].as_array().unwrap().len(), draft.ids.len());
                prop_assert_eq!(&body["requestId"], &draft.request_id);
            }
        }

        #[test]
        fn a_plan_made_again_is_the_same_plan(due in members(), by in 0..50_usize) {
            let limits = Limits { entries: 20, bytes: 5000 };
            let mut due: Vec<Member> = due;
            due.sort_by_key(|member| member.due.id);
            due.dedup_by_key(|member| member.due.id);
            let mut turned = due.clone();
            turned.rotate_left(by.min(due.len()));
            prop_assert_eq!(drafts(7, 1, due.clone(), limits), drafts(7, 1, turned, limits));
            if let Some(first) = due.first().cloned() {
                let id = |identity, member: Member| {
                    drafts(identity, 1, vec![member], limits)[0].request_id.clone()
                };
                let plans = first.plans + 1;
                let mut changed = first.clone();
                changed.due.text.push(' ');
                let others = [
                    id(8, first.clone()),
                    id(7, Member { plans, ..first.clone() }),
                    id(7, changed),
                ];
                prop_assert!(!others.contains(&id(7, first)));
            }
        }
    }
}
