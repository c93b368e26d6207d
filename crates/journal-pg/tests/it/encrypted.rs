//! A server over TLS: it has to prove that it is the one that was asked for.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_postgres::config::SslMode;

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

    /// Certifies the server by the name `localhost`.
    fn certifies(&self, server: &Config) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        for (file, text) in [("server.crt", certificate), ("server.key", key.serialize_pem())] {
            // As the server's own user, in the directory of its data.
            let write = format!(
                "COPY (SELECT '{}') TO PROGRAM 'umask 077; base64 -d > {file}'",
                STANDARD.encode(text)
            );
            ran(server.clone(), write).unwrap();
        }
        ran(server.clone(), "ALTER SYSTEM SET ssl = on".to_owned()).unwrap();
        ran(server.clone(), "SELECT pg_reload_conf()".to_owned()).unwrap();
    }
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn by_tls_a_server_proves_its_name_or_is_told_nothing() {
    let server = given().unwrap();
    let room = Room::new();
    drop(made(&server, &room));
    let (authority, another) = (Authority::new(), Authority::new());
    authority.certifies(&server);
    let reached = |host: &str, by: &Authority| {
        let mut config = config(&server, &room);
        config.server = Config::new();
        config.server.host(host).port(server.get_ports()[0]).user("signer").dbname("postgres");
        config.server.options(format!("-c search_path={}", schema(&room)));
        config.server.ssl_mode(SslMode::Require);
        let file = room.path().join("authority.pem");
        std::fs::write(&file, &by.pem).unwrap();
        config.authority_file = Some(file);
        journal_pg::open(&config, Clock::MACHINE)
    };
    let mut first = reached("localhost", &authority);
    for _ in 0..50 {
        // The server reads its settings again in its own time.
        if first.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        first = reached("localhost", &authority);
    }
    let encrypted = "SELECT count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
    let encrypted = move |conn: &dyn Database| conn.query_row(encrypted, [], |row| row.get(0));
    assert_eq!(first.unwrap().read::<i64>(encrypted).await, Ok(1));
    for (host, by) in [("localhost", &another), ("127.0.0.1", &authority)] {
        let refused = reached(host, by).unwrap_err().to_string();
        assert!(refused.contains("invalid peer certificate"), "{host}: {refused}");
    }
}
