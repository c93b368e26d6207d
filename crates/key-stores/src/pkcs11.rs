//! A key on a token of PKCS#11, such as an HSM, a smart card or `SoftHSM`: it signs there and never leaves.
//!
//! A module is a library of the token's maker that is loaded into this process. It is initialised once, and
//! may block for as long as it likes. So each has a thread of its own, which makes every call to it, one
//! after the other; a request that nobody waits for any longer is passed over.

mod token;

use alloy::primitives::B256;
use async_trait::async_trait;
use config::{Pkcs11Config, TokenKey};
use keys::{KeyError, SigningStore, StoreError, StoreFault};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use token::Tokens;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time limit for loading a module.
const LOADING: Duration = Duration::from_secs(10);

/// Number of requests that may wait for a module.
const WAITING: usize = 64;

/// The thread of each module that is loaded. A module stays loaded until the process ends: not every one
/// can be loaded twice.
static THREADS: Mutex<BTreeMap<PathBuf, SyncSender<TokenJob>>> = Mutex::new(BTreeMap::new());

/// One key of a token.
#[derive(Debug)]
struct Pkcs11Store {
    key: TokenKey,
    config: Arc<Pkcs11Config>,
    jobs: SyncSender<TokenJob>,
}

/// One signature, and who waits for it.
struct TokenJob {
    key: TokenKey,
    config: Arc<Pkcs11Config>,
    digest: B256,
    answer: oneshot::Sender<Result<k256::ecdsa::Signature, StoreError>>,
}

impl Pkcs11Store {
    /// Loads the module, unless it is loaded, and sees that there is a PIN. Asks no token yet. Blocks.
    fn open(key: TokenKey, config: Pkcs11Config, config_path: &str) -> Result<Self, KeyError> {
        token::read_pin(&config.pin_file, config_path)?;
        let jobs = thread_of(&config.module).map_err(|said| KeyError::NoModule {
            key: config_path.to_owned(),
            path: config.module.clone(),
            said,
        })?;
        Ok(Self { key, config: Arc::new(config), jobs })
    }
}

/// Opens a key of a token. Its module is loaded off the runtime's threads.
pub(super) async fn open(
    key: TokenKey,
    token: Pkcs11Config,
    path: &str,
) -> Result<Box<dyn SigningStore>, KeyError> {
    let said = "it does not come back from starting".to_owned();
    let module = token.module.clone();
    let silent = KeyError::NoModule { key: path.to_owned(), path: module, said };
    let named = path.to_owned();
    let open = tokio::task::spawn_blocking(move || Pkcs11Store::open(key, token, &named));
    let opened = timeout(LOADING, open).await.map_err(|_| silent)?;
    let store = opened.map_err(|_| KeyError::Interrupted { key: path.to_owned() })??;
    Ok(Box::new(store))
}

/// The way to the thread of a module, which is loaded if it is not; otherwise why it cannot be.
fn thread_of(module: &Path) -> Result<SyncSender<TokenJob>, String> {
    let mut threads = THREADS.lock();
    if let Some(jobs) = threads.get(module) {
        return Ok(jobs.clone());
    }
    let tokens = Tokens::load(module)?;
    let (jobs, queue) = sync_channel(WAITING);
    let thread = thread::Builder::new().name("pkcs11".to_owned());
    thread.spawn(move || serve(tokens, &queue)).map_err(|error| error.to_string())?;
    threads.insert(module.to_owned(), jobs.clone());
    Ok(jobs)
}

fn serve(mut tokens: Tokens, queue: &Receiver<TokenJob>) {
    for TokenJob { key, config, digest, answer } in queue {
        if !answer.is_closed() {
            // A requester that has gone meanwhile has given the signature up.
            answer.send(tokens.sign(&config, &key, digest)).ok();
        }
    }
}

#[async_trait]
impl SigningStore for Pkcs11Store {
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let (answer, signed) = oneshot::channel();
        let (key, config) = (self.key.clone(), Arc::clone(&self.config));
        self.jobs.try_send(TokenJob { key, config, digest, answer }).map_err(|_| {
            StoreError::new(StoreFault::Busy, "too many requests wait for the module")
        })?;
        signed.await.map_err(|_| StoreError::new(StoreFault::Down, "the module's thread ended"))?
    }
}

#[cfg(test)]
mod tests;
