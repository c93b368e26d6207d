//! Strict reading of the result of `aggregate3`: a list of exactly as many answers as were asked for, laid out as
//! the contract lays it out, in which no byte is read twice. So the decoded answers are never larger than the bytes
//! that came. A general decoder follows five thousand offsets to one place and copies it as often.

use alloy::primitives::{Bytes, U256};

/// Bytes of a word.
const WORD: usize = 32;

/// One answer: whether the call succeeded, and what it returned.
pub(super) type Returned = (bool, Bytes);

/// The answers to `wanted` calls; else how many there are, and none where the layout is another one.
pub(super) fn read_answers(returned: &[u8], wanted: usize) -> Result<Vec<Returned>, usize> {
    if wanted == 0 {
        return Ok(vec![]);
    }
    let (first, list) = returned.split_at_checked(WORD).ok_or(0_usize)?;
    if number(first) != Some(WORD) {
        return Err(0);
    }
    let (length, list) = list.split_at_checked(WORD).ok_or(0_usize)?;
    let found = number(length).ok_or(0_usize)?;
    if found != wanted {
        // A list that cannot be there is not counted.
        let room = list.len().div_euclid(WORD);
        return Err(if found > room { 0 } else { found });
    }
    let head = wanted.checked_mul(WORD).filter(|head| *head <= list.len()).ok_or(0_usize)?;
    // Answers follow each other: each begins where the one before it ended.
    let mut begins = head;
    let mut answers = Vec::with_capacity(wanted);
    for place in list.get(..head).unwrap_or_default().chunks_exact(WORD) {
        let answer = Some(begins).filter(|begins| number(place) == Some(*begins));
        let (answer, ends) = answer.and_then(|begins| one(list, begins)).ok_or(0_usize)?;
        answers.push(answer);
        begins = ends;
    }
    Ok(answers)
}

/// The answer that begins at a place, and where it ends.
fn one(list: &[u8], begins: usize) -> Option<(Returned, usize)> {
    let word = |nth: usize| {
        let from = begins.checked_add(nth.checked_mul(WORD)?)?;
        number(list.get(from..from.checked_add(WORD)?)?)
    };
    let success = match word(0)? {
        0 => false,
        1 => true,
        _ => return None,
    };
    if word(1)? != WORD.checked_mul(2)? {
        return None;
    }
    let length = word(2)?;
    let data = begins.checked_add(WORD.checked_mul(3)?)?;
    let bytes = list.get(data..data.checked_add(length)?)?;
    let ends = data.checked_add(length.checked_next_multiple_of(WORD)?)?;
    Some(((success, Bytes::copy_from_slice(bytes)), ends))
}

/// A word that is a size.
fn number(word: &[u8]) -> Option<usize> {
    usize::try_from(U256::try_from_be_slice(word)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::sol;
    use alloy::sol_types::SolValue as _;
    use proptest::prelude::*;

    sol! {
        struct Wrapped { bool success; bytes returnData; }
    }

    fn packed(answers: &[(bool, Vec<u8>)]) -> Vec<u8> {
        let wrap = |(success, data): &(bool, Vec<u8>)| Wrapped {
            success: *success,
            returnData: data.clone().into(),
        };
        answers.iter().map(wrap).collect::<Vec<_>>().abi_encode()
    }

    fn word(number: usize) -> [u8; WORD] {
        U256::from(number).to_be_bytes()
    }

    #[test]
    fn many_offsets_to_one_place_are_not_followed() {
        const MANY: usize = 5000;
        let mut bomb = [word(WORD), word(MANY)].concat();
        let head = MANY.saturating_mul(WORD);
        bomb.extend((0..MANY).flat_map(|_| word(head)));
        bomb.extend([word(1), word(64), word(190_000)].concat());
        bomb.resize(bomb.len().saturating_add(190_016), 7);
        assert_eq!(
            read_answers(&bomb, MANY),
            Err(0),
            "a decoder that follows them takes a gigabyte"
        );
    }

    #[test]
    fn another_number_is_told_and_nonsense_is_none() {
        let two = packed(&[(true, vec![1]), (false, vec![])]);
        assert_eq!(read_answers(&two, 3), Err(2));
        assert_eq!(read_answers(&two, 1), Err(2));
        assert_eq!(read_answers(&[], 0), Ok(vec![]), "nothing was asked");
        assert_eq!(read_answers(&packed(&[]), 0), Ok(vec![]));
        let huge = [word(WORD), [0xFF; WORD], word(1)].concat();
        assert_eq!(read_answers(&huge, 1), Err(0));
        let beyond = [word(WORD), word(1 << 40), word(1)].concat();
        assert_eq!(read_answers(&beyond, 1 << 40), Err(0));
        let mut strange = packed(&[(true, vec![1])]);
        strange[127] = 2;
        assert_eq!(read_answers(&strange, 1), Err(0), "neither true nor false");
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(answers in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..100)), 0..9)) {
            let expected: Vec<Returned> =
                answers.iter().map(|(success, data)| (*success, data.clone().into())).collect();
            let packed = packed(&answers);
            prop_assert_eq!(read_answers(&packed, answers.len()), Ok(expected));
            for cut in [1, 31, 32, 64] {
                let short = packed.get(..packed.len().saturating_sub(cut)).unwrap_or_default();
                let total: usize = read_answers(short, answers.len()).unwrap_or_default().iter().map(|(_, data)| data.len()).sum();
                prop_assert!(total <= short.len());
            }
        }

        #[test]
        fn no_bytes_upset_it(bytes: Vec<u8>, wanted in 0_usize..9) {
            let read: usize = read_answers(&bytes, wanted).unwrap_or_default().iter().map(|(_, data)| data.len()).sum();
            prop_assert!(read <= bytes.len());
        }
    }
}
