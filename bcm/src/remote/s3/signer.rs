//! Signs a flare's requests, with credentials that the flare's programs never see: S3 does not
//! create users.
//!
//! The process that starts a pack runs a signer. The program sends over a Unix socket, with a
//! token, what it wants to do with which object; if that object is under the flare's name the
//! program receives a URL that allows this and nothing else, for a minute. The objects' contents
//! travel directly between program and service.
//!
//! ```text
//! program  TOKEN ⏎ PUT ⏎ some/where/burst/FLARE/log/0/1/7   ▶  signer
//!          +https://host/bucket/some/where/…?X-Amz-Signature=…  ◀
//! ```

use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use parking_lot::Mutex;
use reqwest::Method;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;

use super::NAME;
use super::locations::Locations;
use super::store::{Store, error};
use crate::config::BackendConfig;
use crate::credential_request::{Agent, CredentialRequest, IssuedBackend};
use crate::error::Error;
use crate::remote::runtime::{Runtime, within};

/// How long a signature is valid.
const VALID: Duration = Duration::from_secs(60);
/// The longest question: S3's names have at most 1024 bytes, each of which may be escaped.
const QUESTION: u64 = 4 << 10;
/// How long a question may take from connection to answer, and how many are handled concurrently.
const ASKING: Duration = Duration::from_secs(15);
const AT_ONCE: usize = 64;
/// How long starting may take, including the requests that test the service.
const STARTING: Duration = Duration::from_secs(15);

/// See the module's documentation. Ends when dropped.
struct Signer {
    state: Arc<SignerState>,
    /// Runs the signer's tasks, which end with it.
    _runtime: Runtime,
}

/// The state for answering questions.
struct SignerState {
    store: Store,
    token: String,
    /// The prefix of all the flare's objects, while there is a flare.
    root: Mutex<Option<Path>>,
}

/// Returns the same bucket with requests signed here.
pub(super) fn issue_credentials(
    flare: &CredentialRequest<'_>,
    config: &BackendConfig,
) -> Result<IssuedBackend, Error> {
    if let Some(last) = flare.last
        && let Some(signer) = &last.agent
    {
        signer.begin_flare(flare.flare_id);
        return Ok(last.clone());
    }
    let (name, token) = (random()?, random()?);
    let address = SocketAddr::from_abstract_name(&name).map_err(error)?;
    let listener = UnixListener::bind_addr(&address).map_err(error)?;
    listener.set_nonblocking(true).map_err(error)?;
    let store = Store::new(config)?;
    let uri = store.signed_uri(&name, &token);
    let state = Arc::new(SignerState {
        store,
        token,
        root: Mutex::default(),
    });
    let (runtime, serving) = (Runtime::start(NAME)?, Arc::clone(&state));
    let probe = Locations::new(state.store.prefix(), flare.flare_id).probe(&name);
    let configuration = Sha256::digest(config.uri.as_deref().unwrap_or_default()).into();
    runtime.run_for(STARTING, async move {
        require_signed_headers(&serving.store, &probe, configuration).await?;
        let listener = tokio::net::UnixListener::from_std(listener).map_err(error)?;
        tokio::spawn(serve(serving, listener));
        Ok(())
    })?;
    let signer = Signer {
        state,
        _runtime: runtime,
    };
    signer.begin_flare(flare.flare_id);
    Ok(IssuedBackend {
        backend: config.clone().with_uri(uri),
        agent: Some(Arc::new(signer)),
    })
}

/// Refuses a service that obeys headers outside the signature: a request must be able to do only
/// what is signed. Tested once for each configuration, of which a process has few.
async fn require_signed_headers(
    store: &Store,
    probe: &Path,
    configuration: [u8; 32],
) -> Result<(), Error> {
    static SOUND: Mutex<BTreeSet<[u8; 32]>> = Mutex::new(BTreeSet::new());
    if SOUND.lock().contains(&configuration) {
        return Ok(());
    }
    if store.obeys_unsigned(probe).await? {
        return Err(error(
            "the service copies objects at the word of a header that is not signed \
             (x-amz-copy-source), so that no flare could be kept from what the platform's \
             credentials reach: use another service, or set shared-credentials = true for this \
             backend if all flares may trust each other",
        ));
    }
    SOUND.lock().insert(configuration);
    Ok(())
}

impl Agent for Signer {
    fn begin_flare(&self, flare_id: &str) {
        let root = Locations::new(self.state.store.prefix(), flare_id).root();
        *self.state.root.lock() = Some(root);
    }

    fn end(&self) {
        *self.state.root.lock() = None;
    }
}

async fn serve(state: Arc<SignerState>, listener: tokio::net::UnixListener) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let state = Arc::clone(&state);
                tokio::spawn(async move {
                    let _ = within(ASKING, state.answer(&mut stream)).await;
                    drop(permit);
                });
            }
            // Out of descriptors, for example: other connections end in the meantime.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Why a request is not signed.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("that is no question")]
    Question,
    #[error("the token is wrong")]
    Token,
    #[error("only GET, PUT and DELETE are signed")]
    Method,
    #[error("that is no object's name")]
    Name,
    #[error("the flare is over")]
    Over,
    #[error("the object is not the flare's")]
    Foreign,
    #[error("the platform has no credentials to sign with")]
    Credentials,
}

impl SignerState {
    async fn answer(&self, stream: &mut UnixStream) -> std::io::Result<()> {
        let mut question = String::new();
        (&mut *stream)
            .take(QUESTION)
            .read_to_string(&mut question)
            .await?;
        let answer = match self.sign(&question).await {
            Ok(url) => format!("+{url}"),
            Err(reason) => format!("-{reason}"),
        };
        stream.write_all(answer.as_bytes()).await
    }

    async fn sign(&self, question: &str) -> Result<String, Refusal> {
        let mut lines = question.split('\n');
        let (Some(token), Some(method), Some(path), None) =
            (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(Refusal::Question);
        };
        if !same(token, &self.token) {
            return Err(Refusal::Token);
        }
        let method = match method {
            "GET" => Method::GET,
            "PUT" => Method::PUT,
            "DELETE" => Method::DELETE,
            _ => return Err(Refusal::Method),
        };
        // Neither empty parts nor dots can be part of it.
        let path = Path::from_url_path(path).map_err(|_| Refusal::Name)?;
        let root = self.root.lock().clone().ok_or(Refusal::Over)?;
        let under = path.prefix_match(&root).map(|mut rest| rest.next());
        if !matches!(under, Some(Some(_))) {
            return Err(Refusal::Foreign);
        }
        let signed = self.store.sign(method, &path, VALID).await;
        signed.map_err(|_| Refusal::Credentials)
    }
}

/// Returns 256 random bits, as hexadecimal digits.
fn random() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(error)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in full, so that the time does not reveal how much was right.
fn same(one: &str, other: &str) -> bool {
    let differing = one
        .bytes()
        .zip(other.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}
