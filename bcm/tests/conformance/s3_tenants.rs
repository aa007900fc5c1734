//! S3 shared by tenants: a flare has no credentials, and its requests are signed where they are
//! kept.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use burst_bcm::{
    BackendConfig, CredentialRequest, Error, IssuedBackend, Pack, PackConfig, cleanup,
    issue_credentials, testing,
};

use crate::harness::{pattern, under_watchdog};
use burst_test_servers::S3Server;
use burst_test_servers::s3::{Behavior, SECRET};

fn platform(server: &S3Server) -> BackendConfig {
    BackendConfig::new("s3").with_uri(server.uri())
}

fn issue(server: &S3Server, flare_id: &str) -> IssuedBackend {
    let secret = flare_id.into();
    issue_credentials(
        &CredentialRequest::new(flare_id, &secret),
        &platform(server),
    )
    .unwrap()
}

fn packs(backend: &BackendConfig, flare_id: &str, sizes: &[u32]) -> Result<Vec<Pack>, Error> {
    testing::packs(sizes, backend, |config: &mut PackConfig| {
        flare_id.clone_into(&mut config.flare_id);
    })
}

fn exchange(packs: &[Pack]) {
    let results = testing::run_on(packs, |worker| {
        let (me, all) = (worker.worker_id(), worker.burst_size());
        worker.all_to_all((0..all).map(|to| pattern(100_000, me, to)).collect())?;
        worker.broadcast((me == 1).then(|| pattern(5 << 20, 1, 0)), 1)?;
        worker.barrier()
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// The signer's address, and the token it requires.
fn signer(given: &IssuedBackend) -> (String, String) {
    let uri = given.backend.uri.as_deref().unwrap();
    let (flare, signer) = uri.split_once("?signer=").unwrap();
    let (_, token) = flare.split_once('@').unwrap().0.rsplit_once(':').unwrap();
    (signer.to_owned(), token.to_owned())
}

/// Returns the URL, or the reason for refusing it.
fn ask(signer: &str, question: &str) -> Result<String, String> {
    let address = SocketAddr::from_abstract_name(signer).unwrap();
    let mut stream = UnixStream::connect_addr(&address).map_err(|error| error.to_string())?;
    // The signer may hang up before it has read everything.
    let _ = stream.write_all(question.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    match answer.strip_prefix('+') {
        Some(url) => Ok(url.to_owned()),
        None => Err(answer),
    }
}

/// The status of an HTTP request with an empty body.
fn request(method: &str, url: &str, headers: &str) -> u16 {
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n{headers}\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_flare_works_without_credentials_under_its_own_name() {
    let server = S3Server::shared();
    under_watchdog(move || {
        // Every pack has a signer of its own.
        let given: Vec<_> = (0..3).map(|_| issue(server, "u1")).collect();
        for given in &given {
            let told = serde_json::to_string(&given.backend).unwrap();
            assert!(!told.contains(SECRET) && !told.contains("http"), "{told}");
        }
        let packs = testing::packs(&[2, 1, 1], &given[0].backend, |config| {
            config.flare_id = "u1".to_owned();
            config.backend = given[config.pack.0 as usize].backend.clone();
        });
        let packs = packs.unwrap();
        exchange(&packs);
        assert!(!server.objects("some/where/burst/u1/").is_empty());
        drop(packs);
        cleanup("u1", &platform(server)).unwrap();
        assert_eq!(server.objects("some/where/burst/u1/"), Vec::<String>::new());

        let error = self::packs(&given[0].backend, "u1-other", &[1, 1]).unwrap_err();
        assert!(error.to_string().contains("not the flare's"), "{error}");
    });
}

#[test]
fn a_service_that_obeys_unsigned_headers_is_refused() {
    let server = S3Server::start_with(Behavior {
        obeys_unsigned: true,
        ..Behavior::default()
    });
    under_watchdog(move || {
        let secret = "u5".into();
        let error = issue_credentials(&CredentialRequest::new("u5", &secret), &platform(&server))
            .unwrap_err();
        let error = error.to_string();
        assert!(error.contains("x-amz-copy-source"), "{error}");
        assert!(
            error.contains("shared-credentials") && !error.contains(SECRET),
            "{error}"
        );
        assert_eq!(server.objects(""), Vec::<String>::new());
        let shared = platform(&server).with_shared_credentials();
        let given = issue_credentials(&CredentialRequest::new("u5", &secret), &shared).unwrap();
        assert_eq!(given.backend, shared);
    });
}

#[test]
fn a_service_is_probed_once_and_keeps_no_object() {
    let server = S3Server::start();
    under_watchdog(move || {
        let puts = || server.requests().get("PUT").copied().unwrap_or(0);
        let _first = issue(&server, "u6");
        assert_eq!(server.objects(""), Vec::<String>::new());
        // The service was asked to write one object, and to copy it.
        assert_eq!(puts(), 2);
        let _second = issue(&server, "u7");
        assert_eq!(puts(), 2);
    });
}

#[test]
fn a_service_need_not_delete_the_probes_object() {
    let server = S3Server::start_with(Behavior {
        deletes_singly: true,
        ..Behavior::default()
    });
    under_watchdog(move || {
        let _given = issue(&server, "u8");
        // It is removed with the flare, under whose name it lies.
        let kept = server.objects("");
        assert!(
            matches!(&kept[..], [one] if one.starts_with("some/where/burst/u8/probe/")),
            "{kept:?}"
        );
    });
}

#[test]
fn a_busy_service_is_probed_again() {
    let refused = |busy: u32| {
        let server = S3Server::start_with(Behavior {
            obeys_unsigned: true,
            busy,
            ..Behavior::default()
        });
        let secret = "u9".into();
        let error = issue_credentials(&CredentialRequest::new("u9", &secret), &platform(&server))
            .unwrap_err();
        (error.to_string(), server.requests()["PUT"])
    };
    under_watchdog(move || {
        let (error, puts) = refused(2);
        assert!(error.contains("x-amz-copy-source"), "{error}");
        assert_eq!(puts, 4);
        // Not forever, and the error reports what was tested.
        let (error, _) = refused(u32::MAX);
        assert!(
            error.contains("headers that are not signed") && error.contains("503"),
            "{error}"
        );
        assert!(!error.contains(SECRET), "{error}");
    });
}

#[test]
fn only_requests_of_the_flare_are_signed() {
    let server = S3Server::shared();
    under_watchdog(move || {
        let given = issue(server, "u2");
        let (signer, token) = signer(&given);
        let own = "some/where/burst/u2/x";
        let question =
            |method: &str, path: &str| ask(&signer, &format!("{token}\n{method}\n{path}"));
        for method in ["GET", "PUT", "DELETE"] {
            assert!(
                question(method, own).unwrap().contains("u2/x?X-Amz-"),
                "{method}"
            );
        }
        for method in [
            "POST",
            "HEAD",
            "get",
            "",
            "LIST",
            "PUT\nsome/where/burst/u2/y",
        ] {
            assert!(question(method, own).is_err(), "{method}");
        }
        for path in [
            "some/where/burst/u1/x",
            "some/where/burst/u2-other/x",
            "some/where/burst/u2",
            "",
            "some/where/burst/u2/",
            "some/where/burst/u2/../u1/x",
            "some/where/burst/u2/%2e%2e/u1/x",
            "some/where/burst/u2//x",
            "/some/where/burst/u2/x/../../../x",
            "x",
            "burst/u2/x",
            "..",
            "some/where/burst/u2/%2E%2E%2Fu1%2Fx",
            "some/where/burst/u2/x?acl",
            "%00",
            "%ff",
        ] {
            let answer = question("PUT", path);
            // A path that looks like more than a name may be one: then it is escaped.
            let escaped = answer
                .as_ref()
                .is_ok_and(|url| url.contains("/burst/u2/x%3Facl?X-Amz"));
            assert!(answer.is_err() || escaped, "{path}: {answer:?}");
        }
        for wrong in [
            "",
            "\n",
            "\n\n",
            "x\nGET\nsome/where/burst/u2/x",
            &"x".repeat(100_000),
        ] {
            assert!(ask(&signer, wrong).is_err(), "{wrong:.9}");
        }

        // A signature is valid for that request alone.
        let put = question("PUT", own).unwrap();
        assert_eq!(request("PUT", &put, ""), 200);
        assert_eq!(
            server.objects("some/where/burst/u2/"),
            ["some/where/burst/u2/x"]
        );
        assert_eq!(request("GET", &put, ""), 403);
        assert_eq!(request("PUT", &put.replace("/u2/", "/u3/"), ""), 403);
        assert_eq!(request("PUT", &format!("{put}&acl="), ""), 403);
        let copied = "x-amz-copy-source: /messages/some/where/burst/u1/x\r\n";
        assert_eq!(request("PUT", &put, copied), 403);

        // Slow clients keep nobody else waiting.
        let address = SocketAddr::from_abstract_name(&signer).unwrap();
        let silent: Vec<_> = (0..20)
            .map(|_| UnixStream::connect_addr(&address).unwrap())
            .collect();
        assert!(question("GET", own).is_ok());
        drop(silent);

        given.end();
        assert_eq!(question("GET", own), Err("-the flare is over".to_owned()));
        drop(given);
        assert!(question("GET", own).is_err());
        cleanup("u2", &platform(server)).unwrap();
    });
}

#[test]
fn a_group_has_one_signer_for_one_flare_at_a_time() {
    let server = S3Server::shared();
    under_watchdog(move || {
        let (mut kept, mut last) = (Vec::new(), None::<IssuedBackend>);
        for flare_id in ["u4-1", "u4-2"] {
            let secret = flare_id.into();
            let flare = CredentialRequest {
                group: Some("u4"),
                last: last.as_ref(),
                ..CredentialRequest::new(flare_id, &secret)
            };
            let issued = issue_credentials(&flare, &platform(server)).unwrap();
            let same = |last: &IssuedBackend| last.backend == issued.backend;
            assert!(last.as_ref().is_none_or(same));
            let packs = testing::packs_over(kept, &[1, 1], &issued.backend, |config| {
                flare_id.clone_into(&mut config.flare_id);
            });
            let packs = packs.unwrap();
            exchange(&packs);
            kept = packs.iter().map(Pack::leave).collect();
            drop(packs);
            issued.end();
            let (signer, token) = signer(&issued);
            let after = format!("{token}\nPUT\nsome/where/burst/{flare_id}/x");
            assert!(ask(&signer, &after).is_err());
            cleanup(flare_id, &platform(server)).unwrap();
            last = Some(issued);
        }
        drop(kept);
        assert_eq!(server.objects("some/where/burst/u4"), Vec::<String>::new());
    });
}
