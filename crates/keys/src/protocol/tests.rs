//! What passes between the two processes comes out as it went in, and nothing else comes out at all.

use super::*;
use proptest::prelude::*;
use std::io::Cursor;

fn item(n: u8, period: Period) -> Item {
    let key = ChargeKey { plan: PlanId(-3), user: UserHash(B256::repeat_byte(n)), period };
    let (subscribe, amount) = (SubscribeId(i64::MAX), U256::MAX);
    Item { subscribe, key, amount, terms: ChargeTerms::default() }
}

fn intent<'a>(items: &'a [Item], tokens: Option<&'a [Address]>) -> Intent<'a> {
    Intent {
        kind: AttemptKind::Bill,
        contract: Address::ZERO,
        function: [0; 4].into(),
        items,
        tokens,
        earlier: None,
        cost: U256::ZERO,
    }
}

fn ask(question: KeyQuestion) -> Ask {
    Ask { id: 7, key: 1, question: Some(question) }
}

fn cancel(bytes: Vec<u8>) -> KeyQuestion {
    KeyQuestion::Cancel(SignAgain { bytes, earlier: vec![] })
}

fn passed(ask: &Ask) -> Ask {
    let framed = frame(ask).unwrap();
    let read = read_frame(&mut Cursor::new(framed)).unwrap().unwrap();
    Ask::decode(read.as_slice()).unwrap()
}

#[test]
fn a_batch_is_shown_as_it_is() {
    let zero = Period::Numbered(U256::ZERO);
    let items = [item(1, zero), item(2, Period::Guarded), item(3, Period::Numbered(U256::MAX))];
    let tokens = [Address::ZERO, Address::repeat_byte(9), Address::repeat_byte(0xff)];
    let question = KeyQuestion::of(b"bytes", &intent(&items, Some(&tokens))).unwrap();
    let Some(KeyQuestion::Bill(bill)) = passed(&ask(question)).question else { panic!() };
    assert_eq!(bill.bytes, b"bytes");
    assert_eq!(bill.charges(), Some((items.to_vec(), tokens.to_vec())));
    let again = Intent { earlier: Some(b"before"), ..intent(&items, None) };
    let shown = SignAgain { bytes: b"x".to_vec(), earlier: b"before".to_vec() };
    assert_eq!(KeyQuestion::of(b"x", &again), Some(KeyQuestion::Again(shown.clone())));
    let cancel = Intent { kind: AttemptKind::Cancel, ..again };
    assert_eq!(KeyQuestion::of(b"x", &cancel), Some(KeyQuestion::Cancel(shown)));
    for before in [again, cancel].map(|intent| Intent { earlier: None, ..intent }) {
        assert_eq!(KeyQuestion::of(b"x", &before), None, "nothing was signed before");
    }
}

#[test]
fn a_field_of_another_length_is_no_charge() {
    let good = WireCharge::of(&item(1, Period::Guarded), Address::ZERO);
    assert!(good.read().is_some());
    for change in [
        |bad: &mut WireCharge| bad.user.push(0),
        |bad: &mut WireCharge| bad.token.truncate(19),
        |bad: &mut WireCharge| bad.amount.insert(0, 1),
        |bad: &mut WireCharge| bad.period = Some(vec![1; 33]),
    ] {
        let mut bad = good.clone();
        change(&mut bad);
        assert!(bad.read().is_none(), "{bad:?}");
    }
}

#[test]
fn a_frame_that_is_too_long_is_neither_written_nor_read() {
    let long = ask(cancel(vec![0; LONGEST]));
    assert!(frame(&long).unwrap_err().to_string().contains("too long"));
    let head = u32::try_from(LONGEST + 1).unwrap().to_be_bytes();
    let error = read_frame(&mut Cursor::new(head)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "before anything of it is waited for");
}

#[test]
fn what_ends_between_two_frames_has_ended_and_what_ends_within_one_is_broken() {
    assert!(read_frame(&mut Cursor::new([])).unwrap().is_none());
    let framed = frame(&ask(cancel(vec![5; 40]))).unwrap();
    for cut in 1..framed.len() {
        let error = read_frame(&mut Cursor::new(&framed[..cut])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "after {cut}");
    }
    let mut two = [framed.clone(), framed].concat();
    let mut from = Cursor::new(&mut two);
    assert!(read_frame(&mut from).unwrap().is_some() && read_frame(&mut from).unwrap().is_some());
    assert!(read_frame(&mut from).unwrap().is_none());
}

proptest! {
    #[test]
    fn whatever_comes_is_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Ask::decode(bytes.as_slice()).map(|ask| ask.question.map(|question| match question {
            KeyQuestion::Bill(bill) => drop(bill.charges()),
            KeyQuestion::Again(_) | KeyQuestion::Cancel(_) | KeyQuestion::Remember(_) => {}
        })));
        drop(read_frame(&mut Cursor::new(bytes)));
    }
}
