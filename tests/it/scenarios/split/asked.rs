//! The process itself, asked directly: it believes in nothing but its own reading, and whatever it does not
//! understand ends it.

use crate::world::signer::program;
use crate::world::town::{KEY, Town, signer_address};
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::Encodable2718 as _;
use alloy::primitives::{Address, Signature, TxKind, U256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use billing::AttemptKind;
use keys::{
    Ask, KeyAnswer, KeyQuestion, KeyReply, Manifest, OpenedAs, SignAgain, frame, read_frame,
};
use policy::{Intent, Refusal};
use prost::Message as _;
use std::io::{ErrorKind, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process that holds the keys of a town, and the way to it.
struct Asked {
    process: Child,
    socket: UnixStream,
    manifest: Manifest,
    chain_id: u64,
}

impl Asked {
    async fn of(town: &Town) -> Self {
        let (mut socket, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new(program());
        command.args(["--config", "signer.toml", "hold-keys"]);
        command.current_dir(town.installation.path()).stdin(OwnedFd::from(theirs));
        let process = command.spawn().unwrap();
        drop(command);
        let first = read_frame(&mut socket).unwrap().expect("it says what it holds");
        let manifest = Manifest::decode(first.as_slice()).unwrap();
        Self { process, socket, manifest, chain_id: town.anvil.chain_id().await }
    }

    fn ask(&mut self, question: KeyQuestion) -> Result<Signature, Refusal> {
        let ask = Ask { id: 77, key: 0, question: Some(question) };
        self.socket.write_all(&frame(&ask).unwrap()).unwrap();
        let heard = read_frame(&mut self.socket).unwrap().expect("an answer");
        let KeyAnswer { id: 77, reply } = KeyAnswer::decode(heard.as_slice()).unwrap() else {
            panic!()
        };
        match reply.unwrap() {
            KeyReply::Signature(signature) => Ok(Signature::from_raw(&signature).unwrap()),
            KeyReply::Refused(refusal) => Err(refusal.into()),
            KeyReply::Failed(_) => panic!("the key failed"),
        }
    }

    /// A transaction at the first place of the account.
    fn made(&self, to: Address) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain_id,
            gas_limit: 21_000,
            max_fee_per_gas: 1_000_000_000,
            to: TxKind::Call(to),
            ..TxEip1559::default()
        }
    }

    /// The question for a cancel, in the place of something that the account has signed.
    fn cancel(&self, bytes: Vec<u8>) -> KeyQuestion {
        let before = TxEip1559 { input: vec![1; 4].into(), ..self.made(Address::ZERO) };
        let key: PrivateKeySigner = KEY.parse().unwrap();
        let signature = key.sign_hash_sync(&before.signature_hash()).unwrap();
        let earlier = TxEnvelope::from(before.into_signed(signature)).encoded_2718();
        KeyQuestion::Cancel(SignAgain { bytes, earlier })
    }

    /// Waits for its end: it gave no further answer.
    fn ended(mut self) -> bool {
        match read_frame(&mut self.socket) {
            Ok(None) => {}
            Ok(Some(answer)) => panic!("it answered: {answer:?}"),
            Err(why) => assert!(why.kind() == ErrorKind::ConnectionReset, "it goes on: {why}"),
        }
        self.process.wait().unwrap().success()
    }
}

#[tokio::test]
async fn it_signs_what_its_own_policy_allows_whoever_asks_and_refuses_everything_else() {
    let town = Town::found().await;
    let mut asked = Asked::of(&town).await;
    let [opened] = &asked.manifest.keys[..] else { panic!("{:?}", asked.manifest) };
    assert_eq!(opened.path, "chains.139.key");
    assert_eq!(opened.outcome, Some(OpenedAs::Address(signer_address().to_vec())));
    assert!(asked.manifest.lacks.is_empty(), "{:?}", asked.manifest.lacks);
    let nothing = asked.made(signer_address());
    let signature = asked.ask(asked.cancel(nothing.encoded_for_signing())).unwrap();
    let signer = signature.recover_address_from_prehash(&nothing.signature_hash()).unwrap();
    assert_eq!(signer, signer_address());
    // Coins to a thief, a call of a token, a transaction on another chain, a billing that charges nobody.
    let thief = Address::repeat_byte(0xbd);
    let coins = TxEip1559 { value: U256::from(1), ..asked.made(signer_address()) };
    let approve = TxEip1559 { input: vec![0x09, 0x5e, 0xa7, 0xb3].into(), ..asked.made(thief) };
    let other = TxEip1559 { chain_id: 1, ..asked.made(signer_address()) };
    let intent = Intent {
        kind: AttemptKind::Bill,
        contract: town.contract,
        function: [0; 4].into(),
        items: &[],
        tokens: Some(&[]),
        earlier: None,
        cost: U256::MAX,
    };
    let bill = |tx: &TxEip1559| KeyQuestion::of(&tx.encoded_for_signing(), &intent).unwrap();
    let again = |tx: &TxEip1559, earlier: &[u8]| {
        KeyQuestion::Again(SignAgain { bytes: tx.encoded_for_signing(), earlier: earlier.to_vec() })
    };
    for (question, rule) in [
        (asked.cancel(asked.made(thief).encoded_for_signing()), "cancel"),
        (asked.cancel(coins.encoded_for_signing()), "value"),
        (asked.cancel(other.encoded_for_signing()), "chain"),
        (asked.cancel(b"no transaction".to_vec()), "function"),
        (bill(&approve), "contract"),
        (bill(&TxEip1559 { to: TxKind::Call(town.contract), ..approve.clone() }), "function"),
        (again(&approve, b"no transaction"), "again"),
    ] {
        assert_eq!(asked.ask(question).unwrap_err().rule, rule);
    }
    asked.socket.shutdown(Shutdown::Write).unwrap();
    assert!(asked.ended(), "whoever asked is gone");
}

#[tokio::test]
async fn whatever_it_does_not_understand_ends_it_with_all_of_its_threads() {
    let town = Town::found().await;
    let cancel = KeyQuestion::Cancel(SignAgain { bytes: vec![1; 40], earlier: vec![] });
    let of = |key, question| frame(&Ask { id: 1, key, question }).unwrap();
    for said in [
        vec![0xff; 8],                // a frame of four gigabytes
        vec![0, 0, 0, 2, 0xff, 0xff], // no message
        of(0, None),                  // no question
        of(9, Some(cancel.clone())),  // a key that it does not hold
    ] {
        let mut asked = Asked::of(&town).await;
        // Whoever asked stays there: nothing but what he said ends it.
        asked.socket.write_all(&said).unwrap();
        asked.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(!asked.ended(), "{said:?}");
    }
    // Half a frame, and nobody left to send the rest.
    let whole = of(0, Some(cancel));
    let mut asked = Asked::of(&town).await;
    asked.socket.write_all(&whole[..whole.len() - 1]).unwrap();
    asked.socket.shutdown(Shutdown::Write).unwrap();
    assert!(!asked.ended());
}

#[tokio::test]
async fn nobody_starts_it_by_hand() {
    let town = Town::found().await;
    let mut command = Command::new(program());
    command.args(["--config", "signer.toml", "hold-keys"]).current_dir(town.installation.path());
    let by_hand = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(by_hand.stderr).unwrap();
    assert!(!by_hand.status.success() && said.contains("which starts it itself"), "{said}");
    assert!(by_hand.stdout.is_empty());
    // Nor over a socket that somebody else has made.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" --config signer.toml hold-keys; exit $?"]).arg(program());
    let output = shell.current_dir(town.installation.path()).stdin(OwnedFd::from(theirs)).output();
    let output = output.unwrap();
    drop(ours);
    assert!(!output.status.success(), "{output:?}");
}
