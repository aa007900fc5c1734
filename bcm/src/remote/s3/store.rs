//! The bucket: its address, and the few requests made to it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{
    HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, ReqwestConnector,
};
use object_store::path::Path;
use object_store::signer::Signer;
use object_store::{
    BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
};
use reqwest::header::HeaderValue;
use reqwest::{Method, StatusCode};
use url::Url;

use super::NAME;
use super::signed::Signatures;
use crate::config::BackendConfig;
use crate::error::Error;
use crate::invalid::{InvalidBackend, InvalidConfiguration};
use crate::remote::kind::ServerAddress;

/// How long a failed request is repeated: short enough that all packs learn within a second that
/// the service is gone.
const RECOVERY: Duration = Duration::from_millis(600);
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How long connecting may take. An absent service refuses immediately. A busy one may drop the
/// first packet of a connection, which is sent again after 1 s, and after another 2 s.
const CONNECT: Duration = Duration::from_secs(5);

/// The longest pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(100);

/// The content of the object that the service should or should not copy.
const PROBE: &[u8] = b"a probe of the platform's";

const FORM: &str = "s3://[key:secret@]bucket[/prefix][?endpoint=…&region=…&token=…]";

/// A placeholder for a service whose address comes with each signature.
const ELSEWHERE: &str = "http://signed.invalid";

/// A bucket. `Debug` output shows nothing of the credentials.
#[derive(Clone)]
pub(super) struct Store {
    bucket: String,
    prefix: Path,
    client: Arc<AmazonS3>,
    options: ClientOptions,
    recovery: Duration,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({}/{})", self.bucket, self.prefix)
    }
}

impl Store {
    /// Parses `s3://[key:secret@]bucket[/prefix][?endpoint=…&region=…&token=…]`. Without
    /// credentials, those of the environment or the machine are used, as by AWS' own tools. With
    /// `s3://flare:token@bucket[/prefix]?signer=…` the requests are signed elsewhere.
    pub(super) fn new(config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason| InvalidConfiguration::OfBackend {
            backend: NAME,
            reason,
        };
        let uri = config
            .uri
            .as_deref()
            .ok_or_else(|| refuse(InvalidBackend::NoUri))?;
        // Neither parser's own errors are passed on: they might show what could not be parsed.
        let form = || refuse(InvalidBackend::Uri { form: FORM });
        let uri = Url::parse(uri).map_err(|_| form())?;
        let bucket = uri
            .host_str()
            .filter(|_| uri.scheme() == "s3")
            .ok_or_else(form)?;
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(text)
                .decode_utf8_lossy()
                .into_owned()
        };
        let recovery = config.recovery.unwrap_or(RECOVERY);
        let signer = uri.query_pairs().find(|(name, _)| name == "signer");
        let builder = match &signer {
            Some((_, signer)) => AmazonS3Builder::new()
                .with_region("elsewhere")
                .with_endpoint(ELSEWHERE)
                .with_skip_signature(true)
                .with_disable_bulk_delete(true)
                .with_http_connector(Signatures {
                    signer: signer.clone().into_owned(),
                    token: uri.password().unwrap_or_default().to_owned(),
                    bucket: bucket.to_owned(),
                }),
            None => AmazonS3Builder::from_env(),
        };
        let options = ClientOptions::new()
            .with_allow_http(true)
            .with_timeout(REQUEST)
            .with_connect_timeout(CONNECT);
        let mut builder = builder
            .with_bucket_name(bucket)
            .with_retry(retries(recovery))
            .with_client_options(options.clone().with_allow_http(signer.is_some()));
        if signer.is_none() && !uri.username().is_empty() {
            builder = builder
                .with_access_key_id(decode(uri.username()))
                .with_secret_access_key(decode(uri.password().unwrap_or_default()));
        }
        for (name, value) in uri.query_pairs() {
            builder = match &*name {
                "endpoint" => builder
                    .with_allow_http(value.starts_with("http:"))
                    .with_endpoint(value),
                "region" => builder.with_region(value),
                "token" => builder.with_token(value),
                "signer" => builder,
                _ => {
                    let known = "endpoint, region and token";
                    return Err(refuse(InvalidBackend::Option { known }).into());
                }
            };
        }
        // Fails if another part of the program has already chosen a provider, which is just as
        // good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = builder.build().map_err(|_| {
            refuse(InvalidBackend::Client {
                client: "the bucket's client",
            })
        })?;
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: Path::from(uri.path()),
            client: Arc::new(client),
            options,
            recovery,
        })
    }

    /// The URI of the same objects for a client that has a signer instead of credentials.
    pub(super) fn signed_uri(&self, signer: &str, token: &str) -> String {
        let (bucket, prefix) = (&self.bucket, &self.prefix);
        let prefix = escaped(prefix);
        format!("s3://flare:{token}@{bucket}{prefix}?signer={signer}")
    }

    /// Returns a URL that allows this method on an object, for a while.
    pub(super) async fn sign(
        &self,
        method: Method,
        location: &Path,
        valid: Duration,
    ) -> object_store::Result<String> {
        let url = self.client.signed_url(method, location, valid).await?;
        Ok(url.into())
    }

    /// Whether the service obeys headers that a signature does not cover: then a client that may
    /// write one object can have any other that the credentials reach copied into it. Tested with
    /// two objects under `prefix`, which are removed if the service allows it.
    pub(super) async fn obeys_unsigned(&self, prefix: &Path) -> Result<bool, Error> {
        let (source, target) = (prefix.clone().join("source"), prefix.clone().join("target"));
        let obeyed = self.copies_unsigned(&source, &target).await;
        // Not every service can delete several objects at once, nor may all credentials delete:
        // what remains is removed with the flare.
        let _ = self.delete(vec![source, target]).await;
        obeyed
    }

    async fn copies_unsigned(&self, source: &Path, target: &Path) -> Result<bool, Error> {
        self.put(source, Bytes::from_static(PROBE)).await?;
        let signed = self.sign(Method::PUT, target, REQUEST).await;
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = signed.map_err(failed)?.parse().map_err(error)?;
        let source = format!("/{}{}", self.bucket, escaped(source));
        let source = HeaderValue::from_str(&source).map_err(error)?;
        request.headers_mut().insert("x-amz-copy-source", source);
        let copies = self.answer(request).await?.is_success();
        Ok(copies && self.get(target).await?.as_deref() == Some(PROBE))
    }

    /// Returns the service's answer to a request that the client cannot make, and therefore cannot
    /// repeat either.
    async fn answer(&self, request: HttpRequest) -> Result<StatusCode, Error> {
        let unknown = |reason: String| {
            error(format!(
                "whether the service obeys headers that are not signed could not be found out: \
                 {reason}"
            ))
        };
        let client = ReqwestConnector::default().connect(&self.options);
        let client = client.map_err(failed)?;
        let mut failed: Option<Instant> = None;
        loop {
            let reason = match client.execute(request.clone()).await {
                Ok(answer) if !may_pass(answer.status()) => return Ok(answer.status()),
                Ok(answer) => format!("the service failed: {}", answer.status()),
                Err(reason) if is_cut(&reason) || reason.kind() == HttpErrorKind::Connect => {
                    reason.to_string()
                }
                Err(reason) => return Err(unknown(reason.to_string())),
            };
            if failed.get_or_insert_with(Instant::now).elapsed() > self.recovery {
                return Err(unknown(reason));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The prefix of all objects' names.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Writes an object, with one request.
    pub(super) async fn put(&self, location: &Path, bytes: Bytes) -> Result<(), Error> {
        let payload = PutPayload::from_bytes(bytes);
        self.again(|| self.client.put(location, payload.clone()))
            .await
            .map(drop)
            .map_err(failed)
    }

    /// Reads an object, with one request; `None` if there is no such object.
    pub(super) async fn get(&self, location: &Path) -> Result<Option<Bytes>, Error> {
        let client = &self.client;
        let get = move || async move { client.get(location).await?.bytes().await };
        match self.again(get).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(reason) => Err(failed(reason)),
        }
    }

    /// Reads an object into the buffer as it arrives, with one request. Returns the object's size,
    /// and reads nothing if that is not the buffer's; `None` if there is no such object.
    pub(super) async fn get_into(
        &self,
        location: &Path,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        let result = match self.again(|| self.client.get(location)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            result => result.map_err(failed)?,
        };
        let size = usize::try_from(result.meta.size).unwrap_or(usize::MAX);
        if size != buffer.len() {
            return Ok(Some(size));
        }
        let (mut bytes, mut filled) = (result.into_stream(), 0);
        while let Some(some) = bytes.try_next().await.map_err(failed)? {
            let end = filled + some.len();
            match buffer.get_mut(filled..end) {
                Some(part) => part.copy_from_slice(&some),
                None => return Ok(Some(end)),
            }
            filled = end;
        }
        Ok(Some(filled))
    }

    /// Deletes objects, with one request for each thousand.
    pub(super) async fn delete(&self, locations: Vec<Path>) -> Result<(), Error> {
        let locations = stream::iter(locations.into_iter().map(Ok)).boxed();
        self.delete_stream(locations).await
    }

    /// Deletes all objects under a prefix: one request for each thousand to list them, and one to
    /// delete them.
    pub(super) async fn delete_all(&self, root: &Path) -> Result<(), Error> {
        let objects = self.client.list(Some(root));
        self.delete_stream(objects.map_ok(|object| object.location).boxed())
            .await
    }

    /// Repeats a request whose connection was cut in the middle. The client does so too, but only
    /// within [`RECOVERY`] of the request's start, and a busy service may take longer to answer:
    /// here that time counts from the first failure. A service that turns out to be gone is not
    /// tried again.
    async fn again<T, F>(&self, request: impl Fn() -> F) -> object_store::Result<T>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let mut failed: Option<Instant> = None;
        loop {
            match request().await {
                Err(reason) if was_cut(&reason) => {
                    if failed.get_or_insert_with(Instant::now).elapsed() > self.recovery {
                        return Err(reason);
                    }
                }
                answer => return answer,
            }
        }
    }

    async fn delete_stream(
        &self,
        locations: stream::BoxStream<'static, object_store::Result<Path>>,
    ) -> Result<(), Error> {
        let mut deleted = self.client.delete_stream(locations);
        while let Some(result) = deleted.next().await {
            match result {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(reason) => return Err(failed(reason)),
            }
        }
        Ok(())
    }
}

/// The endpoint, if one is configured: Amazon's S3 has no stable address.
pub(super) fn servers(config: &BackendConfig) -> Result<Vec<ServerAddress>, Error> {
    Store::new(config)?;
    let uri = config.uri.as_deref().and_then(|uri| Url::parse(uri).ok());
    let mut options = uri.iter().flat_map(Url::query_pairs);
    let endpoint = options.find(|(name, _)| name == "endpoint");
    Ok(endpoint
        .and_then(|(_, endpoint)| ServerAddress::of_url(&endpoint))
        .into_iter()
        .collect())
}

/// Escapes a path for a URL, with a slash before each part.
fn escaped(path: &Path) -> String {
    path.parts().fold(String::new(), |all, part| {
        let part = percent_encoding::utf8_percent_encode(
            part.as_ref(),
            percent_encoding::NON_ALPHANUMERIC,
        );
        format!("{all}/{part}")
    })
}

fn retries(recovery: Duration) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(20),
            max_backoff: PAUSE,
            base: 2.,
        },
        max_retries: 20,
        retry_timeout: recovery,
    }
}

fn was_cut(reason: &object_store::Error) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(reason);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return is_cut(error);
        }
        next = error.source();
    }
    false
}

fn is_cut(reason: &HttpError) -> bool {
    let kind = reason.kind();
    matches!(kind, HttpErrorKind::Request | HttpErrorKind::Interrupted)
}

/// Whether the same request may be answered differently later. What is not implemented stays so.
fn may_pass(status: StatusCode) -> bool {
    match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::NOT_IMPLEMENTED => false,
        status => status.is_server_error(),
    }
}

pub(super) fn error(reason: impl ToString) -> Error {
    Error::of_backend(NAME, None, reason.to_string())
}

fn failed(reason: object_store::Error) -> Error {
    error(format!("the service refused or failed: {reason}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn answers_of_a_busy_service_are_transient() {
        let passing = |status: u16| may_pass(StatusCode::from_u16(status).unwrap());
        assert!([408, 429, 500, 502, 503, 504].into_iter().all(passing));
        let answers = [200, 204, 301, 400, 403, 404, 405, 409, 501];
        assert!(!answers.into_iter().any(passing));
    }

    #[test]
    fn a_secret_is_never_shown() {
        let store = |uri: &str| Store::new(&BackendConfig::new(NAME).with_uri(uri));
        let good = "s3://key:hunter2@bucket/some/where?region=eu-west-1&endpoint=http://h:1";
        assert_eq!(
            format!("{:?}", store(good).unwrap()),
            "Store(bucket/some/where)"
        );
        for wrong in [
            "s3://key:hunter2@",
            "http://k:hunter2@b",
            "s3://k:hunter2@b?colour=red",
        ] {
            let error = store(wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
