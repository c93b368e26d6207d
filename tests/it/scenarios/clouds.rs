//! The Signer against moto, which plays AWS and is somebody else's: a key of KMS, and one in Secrets Manager.
//!
//! `./test` installs moto below target and runs this; tests/clouds/aws.py says what of moto is put right.

use super::procedures::introduce;
use crate::world::anvil::Family;
use crate::world::search::Search;
use crate::world::signer::{Installation, Signer};
use crate::world::town::{KEY, Town, signer_address};
use alloy::primitives::{Address, keccak256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Who we are to AWS.
const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "Zq8fT3awssecretW7xLr2N";

/// What `./test` says where moto is; none of these tests runs without.
#[expect(clippy::disallowed_methods, reason = "it says where moto is")]
fn python() -> String {
    std::env::var("MOTO_PYTHON").expect("./test --only clouds installs moto and says where it is")
}

/// moto, as long as this lives.
struct Moto {
    process: Child,
    url: String,
}

impl Moto {
    fn start(arguments: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clouds/aws.py");
        let mut command = Command::new(python());
        command.arg(script).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, url: format!("http://127.0.0.1:{}", port.trim()) }
    }

    /// Asks as a user of AWS would.
    async fn ask(&self, service: &str, target: &str, body: Value) -> Value {
        let scope = format!("{ID}/20260101/eu-central-1/{service}/aws4_request");
        let who = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
        let request = reqwest::Client::new().post(&self.url).body(body.to_string());
        let request = request.header("authorization", who).header("x-amz-target", target);
        let answer = request.header("content-type", "application/x-amz-json-1.1").send().await;
        serde_json::from_slice(&answer.unwrap().bytes().await.unwrap()).unwrap()
    }

    /// A key that was made there: its ARN and its address.
    async fn key(&self) -> (String, Address) {
        let spec = json!({"KeySpec": "ECC_SECG_P256K1", "KeyUsage": "SIGN_VERIFY"});
        let made = self.ask("kms", "TrentService.CreateKey", spec).await;
        let arn = made["KeyMetadata"]["Arn"].as_str().unwrap().to_owned();
        let asked = json!({"KeyId": arn});
        let told = self.ask("kms", "TrentService.GetPublicKey", asked).await;
        let spki = STANDARD.decode(told["PublicKey"].as_str().unwrap()).unwrap();
        // Its last 64 bytes are X and Y.
        let address = Address::from_slice(&keccak256(&spki[spki.len() - 64..])[12..]);
        (arn, address)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// What reaches AWS there, and logs all it can.
fn beside(moto: &Moto, installation: Installation) -> Installation {
    installation
        .env("AWS_ACCESS_KEY_ID", ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("SIGNER__KEYS__AWS_KMS_URL", &moto.url)
        .env("SIGNER__KEYS__AWS_SECRETS_URL", &moto.url)
        .env("SIGNER__LOG__FILTER", "trace")
}

/// A town whose Signer finds the key there.
async fn signing_with(moto: &Moto, key: &str) -> Town {
    let mut town = Town::on(Family::Evm).await;
    town.installation = beside(moto, town.installation).env("SIGNER__CHAINS__139__KEY", key);
    town
}

#[tokio::test]
#[ignore = "needs moto, which ./test --only clouds installs"]
async fn a_key_that_was_made_in_kms_signs_and_one_that_hashes_again_does_not() {
    let (put_right, stock) = (Moto::start(&[]), Moto::start(&["--stock"]));
    for (moto, signs) in [(&put_right, true), (&stock, false)] {
        let (arn, address) = moto.key().await;
        let town = signing_with(moto, &format!("awskms:{arn}@{address}")).await;
        let check = town.installation.run(&["check"]).await;
        let said = String::from_utf8_lossy(&[check.stdout, check.stderr].concat()).into_owned();
        assert_eq!(said.contains(&format!("signs for {address}")), signs, "{said}");
        assert_eq!(said.contains("by another key, or of something else"), !signs, "{said}");
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[tokio::test]
#[ignore = "needs moto, which ./test --only clouds installs"]
async fn a_key_in_secrets_manager_bills_and_its_store_is_not_needed_afterwards() {
    let moto = Moto::start(&[]);
    let secret = json!({"Name": "signer/billing", "SecretString": json!({"key": KEY}).to_string()});
    let made = moto.ask("secretsmanager", "secretsmanager.CreateSecret", secret).await;
    let arn = made["ARN"].as_str().unwrap().to_owned();
    let town = signing_with(&moto, &format!("awssecret:{arn}#key@{}", signer_address())).await;
    let signer = town.signer().await;
    drop(moto);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
    let mut search = Search::default();
    search.forbid_key("the signing key", KEY);
    search.forbid_text("the secret of AWS", SECRET);
    search.add("the log", signer.terminate().await);
    let again = town.installation.run(&["check"]).await;
    search.add("check without the store", [again.stdout, again.stderr].concat());
    assert_eq!(search.found(), Vec::<String>::new());
}

/// The procedure of docs/keys.md for a key that was made in the store: there and back, and each time what the
/// account before has open is followed by its own key.
async fn keys_move_to_kms_and_back_with_open_billings(family: Family) {
    let moto = Moto::start(&[]);
    let (arn, address) = moto.key().await;
    let mut town = Town::on_request(family).await;
    town.installation = beside(&moto, town.installation);
    let in_kms = format!("awskms:{arn}@{}", town.spell(address));
    let mut search = Search::default();
    search.forbid_key("the signing key", KEY);
    search.forbid_text("the secret of AWS", SECRET);

    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    search.add("the log before", signer.terminate().await);
    town.anvil.call::<Value>("anvil_dropAllTransactions", json!([])).await;
    introduce(&town, address).await;
    let (here, there) = ("key = \"file:evm.key\"".to_owned(), format!("key = {in_kms:?}"));
    let retired = |key: &str| format!("retired_{}", key.replace("key = ", "keys = [") + "]");

    let moved = format!("{there}\n{}", retired(&here));
    town.installation.edit(&here, &moved);
    well(&town, address).await;
    let signer = town.signer().await;
    assert_eq!(following(&signer).await[0]["address"], town.spell(signer_address()).as_str());
    let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    search.add("the log of KMS", signer.terminate().await);

    town.installation.edit(&moved, &format!("{here}\n{}", retired(&there)));
    well(&town, signer_address()).await;
    let signer = town.signer().await;
    assert_eq!(following(&signer).await[0]["address"], town.spell(address).as_str());
    let third = signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    for (hash, who) in [(first, signer_address()), (second, address), (third, signer_address())] {
        let ended = town.settled(&signer, &hash).await;
        assert_eq!([&ended["state"], &ended["address"]], ["charged", &town.spell(who)], "{ended}");
    }
    town.assert_paid(&[1, 1, 1]).await;
    town.nothing_is_stuck(signer).await;
    assert_eq!(search.found(), Vec::<String>::new());
}

/// `check` finds nothing to complain of, and this account signs.
async fn well(town: &Town, signs: Address) {
    let check = town.installation.run(&["check"]).await;
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(check.status.success(), "{said}");
    assert!(said.contains(&format!("signs for {}", town.spell(signs))), "{said}");
}

/// The accounts that are only followed.
async fn following(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0]["following"].clone()
}

#[tokio::test]
#[ignore = "needs moto, which ./test --only clouds installs"]
async fn keys_move_to_kms_and_back_with_open_billings_on_evm() {
    keys_move_to_kms_and_back_with_open_billings(Family::Evm).await;
}

#[tokio::test]
#[ignore = "needs moto, which ./test --only clouds installs"]
async fn keys_move_to_kms_and_back_with_open_billings_on_tron() {
    keys_move_to_kms_and_back_with_open_billings(Family::Tron).await;
}
