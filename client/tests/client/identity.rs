//! A platform behind a proxy that asks its callers for a certificate.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use burst_client::{Client, Error};
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

type Pair = CertifiedKey<KeyPair>;

fn made() -> Pair {
    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap()
}

/// A server that accepts only callers with this certificate.
fn strict(server: &Pair, caller: &Pair) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut known = RootCertStore::empty();
    known.add(caller.cert.der().clone()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(known), Arc::clone(&provider));
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server.signing_key.serialize_der()));
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![server.cert.der().clone()], key)
        .unwrap()
}

#[test]
fn a_client_certificate_is_presented_on_request() {
    let (server, caller) = (made(), made());
    let config = Arc::new(strict(&server, &caller));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let proxy = thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), connection);
        let mut lines = BufReader::new(&mut tls).lines();
        while !lines.next().unwrap().unwrap().is_empty() {}
        write!(tls, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]").unwrap();
        tls.conn.send_close_notify();
        let _ = tls.flush();
    });
    let pem = format!(
        "{}\n{}",
        caller.cert.pem(),
        caller.signing_key.serialize_pem()
    );
    let client = Client::builder(&address, "me:key")
        .certificates(server.cert.pem().as_bytes())
        .identity(pem.as_bytes());
    let namespaces = client.build().unwrap().list_own_namespaces().unwrap();
    assert_eq!(namespaces.text(), "[]");
    proxy.join().unwrap();
}

#[test]
fn a_certificate_without_its_key_is_refused() {
    let pem = made().cert.pem();
    let client = Client::builder("https://127.0.0.1:1", "me:key").identity(pem.as_bytes());
    let error = client.build().unwrap_err();
    assert!(matches!(error, Error::NoIdentity), "{error:?}");
}
