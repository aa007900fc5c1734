//! Loading from an S3 server by plain URLs, as from any server that answers range requests.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

use std::fs;

use burst::data::{self, DataError};
use burst_test_servers::S3Server;

#[test]
fn an_object_is_loaded_once_by_each_pack() {
    let server = S3Server::open();
    let bytes: Vec<u8> = (0..100_003u32).map(|index| (index % 251) as u8).collect();
    for size in [0, 1, 3, bytes.len()] {
        fs::write(server.file("object"), &bytes[..size]).unwrap();
        let url = server.url("object");
        let load = |url: String, burst: &burst::BurstContext| {
            let loaded = data::load(burst, &url)?;
            Ok((loaded.as_ptr() as usize, loaded.to_vec()))
        };
        let outputs = burst::testing::run(load, vec![url; 6], 3).unwrap();
        assert!(outputs.iter().all(|output| output.1 == bytes[..size]));
        if size > 0 {
            assert!(outputs[..3].iter().all(|output| output.0 == outputs[0].0));
        }
    }
}

#[test]
fn a_range_is_read() {
    let server = S3Server::open();
    fs::write(server.file("object"), b"0123456789").unwrap();
    let url = server.url("object");
    assert_eq!(data::size(&url).unwrap(), 10);
    assert_eq!(data::read(&url, 2..5).unwrap(), b"234");
    assert_eq!(data::read(&url, 4..4).unwrap(), b"");
    let outside = data::read(&url, 5..11);
    assert!(matches!(
        outside,
        Err(DataError::OutOfRange { size: 10, .. })
    ));
}

#[test]
fn errors_give_the_reason_and_hide_the_signature() {
    let server = S3Server::open();
    let missing = format!("{}?X-Amz-Signature=hunter2", server.url("missing"));
    let error = data::size(&missing).unwrap_err().to_string();
    assert!(error.contains("/messages/missing"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    let nobody = data::size("http://127.0.0.1:1/x").unwrap_err();
    assert!(matches!(nobody, DataError::Io { .. }), "{nobody}");
}
