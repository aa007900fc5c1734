//! The objects of the S3 service. For each list, `s3s-fs` walks the whole bucket, which tests fill with the directories
//! of thousands of flares; this implementation walks only those of the prefix.

use std::fs;
use std::io::SeekFrom;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

/// The maximum length of a list if the request sets none.
const LONGEST: i32 = 1000;
/// How much a fast service reads from a file at a time.
const BLOCK: usize = 1 << 20;

/// How a service differs from Amazon's, or from the others of the tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Behavior {
    /// Copies even if the header that requests it is not signed. Amazon's and most others refuse that.
    pub obeys_unsigned: bool,
    /// Deletes objects only one at a time, like Google's.
    pub deletes_singly: bool,
    /// How many copy requests it rejects as busy.
    pub busy: u32,
    /// Has a thread per processor, and serves objects by itself. `s3s-fs` hashes the whole object for each requested
    /// range and reads it in blocks of 4 KiB, which would dominate what a benchmark measures.
    pub fast: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Files {
    inner: FileSystem,
    root: PathBuf,
    behavior: Behavior,
    busy: AtomicU32,
}

impl Files {
    pub(crate) fn new(root: &Path, behavior: Behavior) -> Self {
        Self {
            inner: FileSystem::new(root).unwrap(),
            root: root.to_owned(),
            behavior,
            busy: AtomicU32::new(behavior.busy),
        }
    }

    /// Returns all objects whose names begin with this prefix, in order, each with its file.
    fn beginning(&self, bucket: &str, prefix: &str) -> Vec<(String, PathBuf)> {
        let bucket = self.root.join(bucket);
        let directory = prefix
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        let mut found = Vec::new();
        let mut directories = vec![bucket.join(directory)];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let path = entry.path();
                let Some(name) = path.strip_prefix(&bucket).ok().and_then(Path::to_str) else {
                    continue;
                };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => directories.push(path),
                    Ok(_) if name.starts_with(prefix) => found.push((name.to_owned(), path)),
                    _ => {}
                }
            }
        }
        found.sort();
        found
    }

    /// Returns an object, or the requested part of it, without a checksum.
    async fn read(&self, input: GetObjectInput) -> S3Result<S3Response<GetObjectOutput>> {
        let path = self.root.join(input.bucket).join(input.key);
        let plain = |part| matches!(part, Component::Normal(_));
        let below = path.strip_prefix(&self.root);
        if !below.is_ok_and(|path| path.components().all(plain)) {
            return Err(s3_error!(NoSuchKey));
        }
        let mut file = File::open(path)
            .await
            .map_err(|error| s3_error!(error, NoSuchKey))?;
        let failed = |error| s3_error!(error, InternalError);
        let length = file.metadata().await.map_err(failed)?.len();
        let bytes = match input.range {
            Some(range) => range.check(length)?,
            None => 0..length,
        };
        let from = SeekFrom::Start(bytes.start);
        file.seek(from).await.map_err(failed)?;
        let size = bytes.end - bytes.start;
        let body = ReaderStream::with_capacity(file.take(size), BLOCK);
        let part = |_| format!("bytes {}-{}/{length}", bytes.start, bytes.end - 1);
        Ok(S3Response::new(GetObjectOutput {
            body: Some(StreamingBlob::wrap(body)),
            content_length: i64::try_from(size).ok(),
            content_range: input.range.map(part),
            ..GetObjectOutput::default()
        }))
    }

    fn list(&self, input: ListObjectsV2Input) -> S3Result<S3Response<ListObjectsV2Output>> {
        if !self.root.join(&input.bucket).is_dir() {
            return Err(s3_error!(NoSuchBucket));
        }
        let prefix = input.prefix.as_deref().unwrap_or_default();
        if prefix.split('/').any(|part| part == "..") {
            return Err(s3_error!(InvalidArgument));
        }
        let after = input
            .continuation_token
            .as_deref()
            .max(input.start_after.as_deref());
        let mut names = self.beginning(&input.bucket, prefix);
        names.retain(|(name, _)| Some(name.as_str()) > after);
        let most = input.max_keys.unwrap_or(LONGEST);
        let is_truncated = names.len() > usize::try_from(most).unwrap_or_default();
        names.truncate(usize::try_from(most).unwrap_or_default());
        // Objects that are deleted in the meantime are left out.
        let object = |(name, path): &(String, PathBuf)| {
            let about = fs::metadata(path).ok()?;
            Some(Object {
                key: Some(name.clone()),
                last_modified: Some(about.modified().ok()?.into()),
                size: i64::try_from(about.len()).ok(),
                ..Object::default()
            })
        };
        let contents: Vec<Object> = names.iter().filter_map(object).collect();
        let last = names.pop().map(|(name, _)| name);
        Ok(S3Response::new(ListObjectsV2Output {
            key_count: i32::try_from(contents.len()).ok(),
            max_keys: Some(most),
            is_truncated: Some(is_truncated),
            contents: (!contents.is_empty()).then_some(contents),
            continuation_token: input.continuation_token,
            next_continuation_token: last.filter(|_| is_truncated),
            name: Some(input.bucket),
            prefix: input.prefix,
            start_after: input.start_after,
            ..ListObjectsV2Output::default()
        }))
    }
}

/// All other operations, done by `s3s-fs`.
macro_rules! otherwise {
    ($($call:ident: $input:ident -> $output:ident),* $(,)?) => {
        #[async_trait::async_trait]
        impl S3 for Files {
            async fn list_objects_v2(
                &self,
                request: S3Request<ListObjectsV2Input>,
            ) -> S3Result<S3Response<ListObjectsV2Output>> {
                match request.input.delimiter {
                    None => self.list(request.input),
                    Some(_) => self.inner.list_objects_v2(request).await,
                }
            }

            async fn get_object(
                &self,
                request: S3Request<GetObjectInput>,
            ) -> S3Result<S3Response<GetObjectOutput>> {
                match self.behavior.fast {
                    true => self.read(request.input).await,
                    false => self.inner.get_object(request).await,
                }
            }

            async fn copy_object(
                &self,
                request: S3Request<CopyObjectInput>,
            ) -> S3Result<S3Response<CopyObjectOutput>> {
                let less = |busy: u32| busy.checked_sub(1);
                if self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
                    return Err(s3_error!(SlowDown));
                }
                let query = request.uri.query().unwrap_or_default();
                if query.contains("X-Amz-Signature=")
                    && !query.contains("x-amz-copy-source")
                    && !self.behavior.obeys_unsigned
                {
                    return Err(s3_error!(AccessDenied));
                }
                self.inner.copy_object(request).await
            }

            async fn delete_objects(
                &self,
                request: S3Request<DeleteObjectsInput>,
            ) -> S3Result<S3Response<DeleteObjectsOutput>> {
                match self.behavior.deletes_singly {
                    true => Err(s3_error!(NotImplemented)),
                    false => self.inner.delete_objects(request).await,
                }
            }

            $(async fn $call(
                &self,
                request: S3Request<$input>,
            ) -> S3Result<S3Response<$output>> {
                self.inner.$call(request).await
            })*
        }
    };
}

otherwise! {
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput,
    upload_part: UploadPartInput -> UploadPartOutput,
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput,
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput,
    delete_object: DeleteObjectInput -> DeleteObjectOutput,
    head_bucket: HeadBucketInput -> HeadBucketOutput,
    head_object: HeadObjectInput -> HeadObjectOutput,
    list_buckets: ListBucketsInput -> ListBucketsOutput,
    list_objects: ListObjectsInput -> ListObjectsOutput,
    list_parts: ListPartsInput -> ListPartsOutput,
    put_object: PutObjectInput -> PutObjectOutput,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_objects_with_its_prefix_page_by_page() {
        let root = tempfile::tempdir().unwrap();
        let bucket = root.path().join("bucket");
        for name in ["a/one", "a/two/three", "a/other", "b/one"] {
            fs::create_dir_all(bucket.join(name).parent().unwrap()).unwrap();
            fs::write(bucket.join(name), name).unwrap();
        }
        let files = Files::new(root.path(), Behavior::default());
        let page = |after: Option<String>| {
            let input = ListObjectsV2Input {
                bucket: "bucket".into(),
                prefix: Some("a/o".into()),
                max_keys: Some(1),
                continuation_token: after,
                ..ListObjectsV2Input::default()
            };
            let page = files.list(input).unwrap().output;
            let objects = page.contents.unwrap_or_default().into_iter();
            let found: Vec<_> = objects.map(|it| (it.key.unwrap(), it.size)).collect();
            (found, page.next_continuation_token)
        };
        let (first, next) = page(None);
        assert_eq!(first, [("a/one".into(), Some(5))]);
        assert_eq!(next.as_deref(), Some("a/one"));
        let (second, next) = page(next);
        assert_eq!(second, [("a/other".into(), Some(7))]);
        assert_eq!(next, None);
    }
}
