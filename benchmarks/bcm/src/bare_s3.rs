//! The reference for S3: a client that only stores all chunks and then reads them.

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use std::time::Instant;

/// The number of concurrent requests.
const AT_ONCE: usize = 8;

/// Returns GB/s of storing and then reading: nothing can be read before it is stored.
pub fn rate(uri: &str, bytes: usize, chunk: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let chunks = bytes.div_ceil(chunk);
    runtime
        .block_on(store_and_read(uri, chunks, chunk))
        .unwrap()
}

async fn store_and_read(uri: &str, chunks: usize, chunk: usize) -> object_store::Result<f64> {
    let uri = url::Url::parse(uri).unwrap();
    let option = |name| {
        let value = uri.query_pairs().find(|(key, _)| key == name);
        value.unwrap().1.into_owned()
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let store = AmazonS3Builder::new()
        .with_bucket_name(uri.host_str().unwrap())
        .with_access_key_id(uri.username())
        .with_secret_access_key(uri.password().unwrap())
        .with_region(option("region"))
        .with_endpoint(option("endpoint"))
        .with_allow_http(true)
        .build()?;
    let names = || (0..chunks).map(|chunk| Path::from(format!("bench/{chunk}")));
    let payload = Bytes::from(vec![1; chunk]);
    let begun = Instant::now();
    stream::iter(names().map(Ok))
        .try_for_each_concurrent(AT_ONCE, |name| {
            let (store, payload) = (&store, PutPayload::from_bytes(payload.clone()));
            async move { store.put(&name, payload).await.map(drop) }
        })
        .await?;
    stream::iter(names().map(Ok))
        .try_for_each_concurrent(AT_ONCE, |name| {
            let store = &store;
            async move { store.get(&name).await?.bytes().await.map(drop) }
        })
        .await?;
    let took = begun.elapsed();
    stream::iter(names().map(Ok::<_, object_store::Error>))
        .try_for_each_concurrent(AT_ONCE, |name| {
            let store = &store;
            async move { store.delete(&name).await }
        })
        .await?;
    Ok((chunks * chunk) as f64 / 1e9 / took.as_secs_f64())
}
