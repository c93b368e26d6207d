use super::*;

#[test]
fn nodes_are_told_apart_by_host_and_by_place_where_they_share_one() {
    let hosts = ["a.example", "b.example", "a.example"].map(str::to_owned);
    assert_eq!(labels(&hosts), ["a.example[0]", "b.example", "a.example[2]"]);
}

#[test]
fn retries_are_a_tenth_of_all_questions_once_the_savings_are_spent() {
    let retries = Retries::default();
    let spent = (0..1000).filter(|_| retries.take()).count();
    assert_eq!(spent, 30);
    let mut more = 0;
    for _ in 0..1000 {
        retries.earn();
        more += usize::from(retries.take());
    }
    assert_eq!(more, 100);
}
