//! A Signer that speaks TLS, under authorities that no system knows.

use crate::world::{CHAINS, Signing, World, write_own};
use merchant::signer::{BillRequest, Mode, Outcome, Verdict};
use merchant::tls::Tls;
use merchant::{CallError, Full};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate and its key, each in PEM.
    fn signs(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> [String; 2] {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        [params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem()]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signer_of_ones_own_authority_bills_whoever_shows_a_certificate_and_nobody_else() {
    let (servers, callers) = (Authority::new(), Authority::new());
    let place = tempfile::tempdir().unwrap();
    let [certificate, key] = servers.signs("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth);
    for (name, text) in
        [("tls.pem", &certificate), ("tls.key", &key), ("callers.pem", &callers.pem)]
    {
        write_own(&place.path().join(name), text);
    }
    let own = callers.signs("scheduler", ExtendedKeyUsagePurpose::ClientAuth).concat();
    let believing = Tls::default().with_authorities(servers.pem.as_bytes()).unwrap();
    let whole = believing.clone().with_identity(own.as_bytes()).unwrap();

    let world = World::new().await;
    let signing = Signing::encrypted(&world, place, &whole).await;
    for (chain, family) in CHAINS {
        world.subscribed(chain, "reader", "ada").await;
        let due = world.due(chain).await;
        let list: Vec<_> = due.iter().map(Full::raw).collect();
        let request =
            BillRequest { request_id: None, mode: Mode::Partial, dry_run: false, list: &list };
        let body = request.body().unwrap();

        let stranger = Authority::new();
        let another = Tls::default().with_authorities(stranger.pem.as_bytes()).unwrap();
        let by_the_system = Tls::default().with_identity(own.as_bytes()).unwrap();
        // Whom it believes is decided before it says anything; what it shows, while it speaks.
        for (who, scheme, tls, may_have_spoken) in [
            ("in the clear", "http", &Tls::default(), true),
            ("who believes what this system believes", "https", &by_the_system, false),
            ("who believes another authority", "https", &another, false),
            ("who shows nothing", "https", &believing, true),
        ] {
            let client = signing.caller(scheme).with_tls(tls).unwrap();
            match client.bill(family, &body).await {
                Err(CallError::Unsent { .. }) => {}
                Err(CallError::Unheard { .. }) if may_have_spoken => {}
                other => panic!("{who}: {other:?}"),
            }
        }

        let heard = signing.client.bill(family, &body).await.unwrap();
        let Verdict::Sent(sent) = &heard else { panic!("{heard:?}") };
        assert_eq!(signing.outcome(&world, &sent.tx_hash).await.state, Outcome::Charged);
    }
}
