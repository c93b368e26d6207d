//! A session that a pooler has moved to another process of the server.

use super::*;
use crate::create;
use journal::Setup;
use journal::store::Steps;

/// A journal in a schema of its own, as the owner of its tables reaches it.
#[expect(clippy::disallowed_methods, reason = "what tests run on is no part of the configuration")]
fn made(room: &tempfile::TempDir) -> ServerConfig {
    let mut server: Config = std::env::var("SIGNER_TEST_POSTGRES").unwrap().parse().unwrap();
    let name = room.path().file_name().unwrap().to_string_lossy().to_ascii_lowercase();
    let schema = format!("test_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let config = |server| ServerConfig {
        server,
        authority_file: None,
        mark_path: room.path().join("journal.mark"),
        patience: Duration::from_secs(20),
        queue_length: 1,
        place: String::new(),
        instance: "a test".to_owned(),
        takeover_after: Duration::from_secs(10),
        shared: false,
        steps: Steps::default(),
        setup: Setup::default(),
    };
    let plain = config(server.clone());
    let make = format!("CREATE SCHEMA {schema}");
    Session::open(&server, &plain, "a test").unwrap().batch(&make).unwrap();
    server.options(format!("-c search_path={schema}"));
    let within = config(server.clone());
    create(&within, &server, "postgres").unwrap();
    within
}

/// The pool was in session mode when the Signer started. The session that has the journal then is not the one that
/// writes.
#[test]
#[ignore = "needs the server of ./test --only postgres"]
fn what_another_process_of_the_server_would_write_is_not_written() {
    let room = tempfile::tempdir().unwrap();
    let config = made(&room);
    let session = Session::open(&config.server, &config, "a test").unwrap();
    let mut moved = Session::open(&config.server, &config, "a test").unwrap();
    moved.backend = session.backend;
    moved.begin(Token::random().unwrap());
    let conn: &dyn Database = &moved;
    let told = conn.execute("UPDATE lane SET next_position = 7", []);
    assert_eq!(told, Err(Constraint::Session.into()));
    assert!(moved.is_broken(), "it is not used again");
    moved.roll_back();
    session.begin(Token::random().unwrap());
    let conn: &dyn Database = &session;
    conn.execute("UPDATE lane SET next_position = 7", []).unwrap();
    session.roll_back();
}
