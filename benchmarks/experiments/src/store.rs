//! An S3 server in this process that counts the bytes it serves. Anyone who can reach it can read and write.

use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::dto::{GetObjectInput, GetObjectOutput, PutObjectInput, PutObjectOutput, StreamingBlob};
use s3s::service::S3ServiceBuilder;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use std::io::SeekFrom;
use std::path::{Component, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio_util::io::ReaderStream;

const BUCKET: &str = "data";

/// The number of bytes to read from a file at a time.
const BLOCK: usize = 1 << 20;

/// A running server. Dropping it stops the server.
pub struct Store {
    address: String,
    directory: TempDir,
    given: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Store {
    /// Starts a server on a free port of this address.
    pub fn start(host: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let files = Files {
            files: FileSystem::new(directory.path()).unwrap(),
            directory: directory.path().to_owned(),
        };
        let service = S3ServiceBuilder::new(files).build();
        let runtime = runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind((host, 0))).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let given = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&given);
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, counter) = (service.clone(), Arc::clone(&counter));
                let service = service_fn(move |request: Request<Incoming>| {
                    let get = request.method() == Method::GET;
                    let (answer, counter) =
                        (Service::call(&service, request), Arc::clone(&counter));
                    async move {
                        let answer = answer.await?;
                        let length = answer.headers().get(CONTENT_LENGTH);
                        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
                        if get {
                            counter.fetch_add(length.unwrap_or(0), Ordering::Relaxed);
                        }
                        Ok::<_, s3s::HttpError>(answer)
                    }
                });
                tokio::spawn(async move {
                    let connection = Builder::new(TokioExecutor::new());
                    let _ = connection
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Self {
            address,
            directory,
            given,
            _runtime: runtime,
        }
    }

    /// Returns the address of the server as `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the URL of an object, or of a common prefix of several objects.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{BUCKET}/{name}", self.address)
    }

    /// Returns the path of the file that holds the object of this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(BUCKET).join(name)
    }

    /// Returns the number of bytes served from objects so far.
    pub fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }
}

/// Stores objects as `s3s-fs` does, but serves them itself: `s3s-fs` hashes the whole object for each requested range
/// and reads it in blocks of 4 KiB, which would dominate the measurements.
struct Files {
    files: FileSystem,
    directory: PathBuf,
}

#[async_trait::async_trait]
impl S3 for Files {
    async fn put_object(
        &self,
        request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        self.files.put_object(request).await
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        let GetObjectInput {
            bucket, key, range, ..
        } = request.input;
        let path = self.directory.join(bucket).join(key);
        let plain = |part| matches!(part, Component::Normal(_));
        let below = path.strip_prefix(&self.directory);
        if !below.is_ok_and(|path| path.components().all(plain)) {
            return Err(s3_error!(NoSuchKey));
        }
        let mut file = File::open(path)
            .await
            .map_err(|error| s3_error!(error, NoSuchKey))?;
        let failed = |error| s3_error!(error, InternalError);
        let length = file.metadata().await.map_err(failed)?.len();
        let bytes = match range {
            Some(range) => range.check(length)?,
            None => 0..length,
        };
        let from = SeekFrom::Start(bytes.start);
        file.seek(from).await.map_err(failed)?;
        let size = bytes.end - bytes.start;
        let body = ReaderStream::with_capacity(file.take(size), BLOCK);
        let content_range =
            range.map(|_| format!("bytes {}-{}/{length}", bytes.start, bytes.end - 1));
        Ok(S3Response::new(GetObjectOutput {
            body: Some(StreamingBlob::wrap(body)),
            content_length: Some(size as i64),
            content_range,
            ..GetObjectOutput::default()
        }))
    }
}
