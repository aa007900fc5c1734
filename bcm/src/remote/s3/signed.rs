//! A client's requests, each with a signature asked for where the credentials are.

use std::fmt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a signature may take to come.
const SIGNING: Duration = Duration::from_secs(5);
/// Longest answer: a URL.
const ANSWER: u64 = 16 << 10;

/// Where signatures are made; see [`signer`](super::signer). Shows nothing of the token.
#[derive(Clone)]
pub(super) struct Signatures {
    pub(super) signer: String,
    pub(super) token: String,
    pub(super) bucket: String,
}

impl fmt::Debug for Signatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signatures").field(&self.bucket).finish()
    }
}

impl HttpConnector for Signatures {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Signed {
            signatures: self.clone(),
            client: ReqwestConnector::default().connect(options)?,
        }))
    }
}

/// Sends requests that were signed elsewhere.
#[derive(Debug)]
struct Signed {
    signatures: Signatures,
    client: HttpClient,
}

#[async_trait]
impl HttpService for Signed {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let signing = self.signatures.ask(method, path);
        let url = timeout(SIGNING, signing)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .and_then(|url| url.parse().map_err(io::Error::other))
            .map_err(|reason| HttpError::new(HttpErrorKind::Unknown, reason))?;
        *request.uri_mut() = url;
        self.client.execute(request).await
    }
}

impl Signatures {
    /// The URL to do this to the object at a path, which begins with the bucket.
    async fn ask(&self, method: &str, path: &str) -> io::Result<String> {
        let object = path
            .strip_prefix('/')
            .and_then(|path| path.strip_prefix(&*self.bucket));
        let object = object.and_then(|path| path.strip_prefix('/'));
        let object = object.ok_or_else(|| io::Error::other("that is no object of the bucket"))?;
        let address = SocketAddr::from_abstract_name(&self.signer)?;
        let stream = std::os::unix::net::UnixStream::connect_addr(&address)?;
        stream.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(stream)?;
        let question = format!("{}\n{method}\n{object}", self.token);
        stream.write_all(question.as_bytes()).await?;
        stream.shutdown().await?;
        let mut answer = String::new();
        stream.take(ANSWER).read_to_string(&mut answer).await?;
        match answer.strip_prefix('+') {
            Some(url) => Ok(url.to_owned()),
            None => Err(io::Error::other(format!(
                "the runtime signs no such request: {}",
                answer.trim_start_matches('-')
            ))),
        }
    }
}
