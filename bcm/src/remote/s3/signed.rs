//! A client's requests, each with a signature requested from the holder of the credentials.

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
use tokio::time::sleep;

use crate::remote::runtime::within;

/// How long obtaining a signature may take, however often it is requested.
const SIGNING: Duration = Duration::from_secs(30);
/// The pause before it is requested again.
const AGAIN: Duration = Duration::from_millis(20);
/// The longest answer: a URL.
const ANSWER: u64 = 16 << 10;

/// The address of the signer; see [`signer`](super::signer). `Debug` output does not show the
/// token.
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
        let url = (self.signatures.url(method, path).await)
            .and_then(|url| url.parse().map_err(io::Error::other))
            .map_err(|reason| HttpError::new(HttpErrorKind::Unknown, reason))?;
        *request.uri_mut() = url;
        self.client.execute(request).await
    }
}

impl Signatures {
    /// Requests a URL that allows this method on the object at a path, which begins with the
    /// bucket. The request is repeated if the signer has hung up without an answer: this process
    /// may have stood still for longer than the signer waits.
    async fn url(&self, method: &str, path: &str) -> io::Result<String> {
        let asking = async {
            loop {
                match self.ask(method, path).await {
                    Err(reason) if is_hung_up(&reason) => sleep(AGAIN).await,
                    answer => return answer,
                }
            }
        };
        let late = || Err(io::ErrorKind::TimedOut.into());
        within(SIGNING, asking).await.unwrap_or_else(late)
    }

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
            None if answer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            None => Err(io::Error::other(format!(
                "the runtime signs no such request: {}",
                answer.trim_start_matches('-')
            ))),
        }
    }
}

/// Whether the signer accepted the connection and ended it before it answered.
fn is_hung_up(reason: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(reason.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_client_repeats_a_request_if_the_signer_hangs_up() {
        let name = format!("burst-signed-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let signer = thread::spawn(move || {
            let next = || listener.accept().unwrap().0;
            // Before the question, after it, and with it unread.
            drop(next());
            next().read_to_string(&mut String::new()).unwrap();
            next().read_exact(&mut [0]).unwrap();
            for answer in ["+http://h/b/o?signed", "-the flare is over"] {
                let mut asked = next();
                asked.read_to_string(&mut String::new()).unwrap();
                asked.write_all(answer.as_bytes()).unwrap();
            }
        });
        let signatures = Signatures {
            signer: name,
            token: "token".to_owned(),
            bucket: "b".to_owned(),
        };
        let url = || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(signatures.url("GET", "/b/o"))
        };
        assert_eq!(url().unwrap(), "http://h/b/o?signed");
        let refused = url().unwrap_err().to_string();
        assert!(refused.ends_with("the flare is over"), "{refused}");
        signer.join().unwrap();
        // The signer no longer exists.
        let gone = url().unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::ConnectionRefused);
    }
}
