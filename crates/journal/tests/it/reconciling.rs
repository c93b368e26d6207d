//! The time until which a lane is known, over starts that teach nothing of the lane.

use super::restoring::{closed, killed};
use super::*;
use journal::LeftJournal;

/// A process that ends before it has reconciled a lane has learnt nothing of it: the next one compares with the chain
/// since the same time, whatever was written meanwhile.
#[tokio::test]
async fn a_start_that_reconciles_nothing_moves_no_time_until_which_a_lane_is_known() {
    let book = Book::in_a_file().await;
    let open = book.accept(&[item(1, 1)]).await.unwrap();
    let unknown = LaneId { signer: Address::repeat_byte(0x77), ..lane() };
    let left = async |journal: &Journal, lane| journal.lane(lane).take_up().await.unwrap().left;
    let mut room = closed(book).await;
    let mut before = Vec::new();
    for settles in [true, false] {
        let journal = Journal::open(&config(&room)).unwrap();
        journal.bind(binding(), NOW_MS).await.unwrap();
        before.push([left(&journal, lane()).await, left(&journal, unknown).await]);
        if settles {
            let charged = end(&open, BatchState::Charged, vec![ItemOutcome::Charged]);
            journal.settle(vec![charged], NOW_MS + 3_600_000).await.unwrap();
        }
        room = killed(&Book { journal, room });
    }
    assert!(before[0][0].left_ms.is_some() && before[0][0].known_ms.is_some(), "{before:?}");
    let killed = before[0].map(|left| LeftJournal { was_closed: false, ..left });
    assert!(before[0][0].was_closed, "the first was");
    assert_eq!(before[1], killed, "an end in between tells nothing of what is unknown");
    let journal = Journal::open(&config(&room)).unwrap();
    journal.lane(lane()).reconciled().await.unwrap();
    journal.close().await;
    let journal = Journal::open(&config(&room)).unwrap();
    let [known, forgotten] = [left(&journal, lane()).await, left(&journal, unknown).await];
    assert!(known.left_ms > before[0][0].left_ms, "{known:?}");
    assert_eq!(forgotten, killed[1], "each lane by itself, and a kill is not forgotten");
    journal.close().await;
    assert_eq!(copies::audit(&config(&room).path, &[]).unwrap().faults, Vec::<String>::new());
}
