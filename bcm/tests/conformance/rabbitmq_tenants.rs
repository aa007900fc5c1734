//! RabbitMQ shared by tenants: each flare has a user and a virtual host of its own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{
    BackendConfig, CredentialRequest, Error, FailureKind, IssuedBackend, Pack, PackConfig, PackId,
    cleanup, issue_credentials, testing,
};

use crate::harness::{packs_with, pattern, promised, under_watchdog};
use crate::proxy::Proxy;
use burst_test_servers::RabbitMq;
use burst_test_servers::port;
use burst_test_servers::rabbitmq::PASSWORD;

pub fn platform(server: &RabbitMq) -> BackendConfig {
    BackendConfig::new("rabbitmq").with_uri(server.managed_uri())
}

fn issue(platform: &BackendConfig, flare_id: &str, packs: u32) -> Result<BackendConfig, Error> {
    let secret = flare_id.into();
    let flare = CredentialRequest {
        deadline: Some(soon()),
        packs: Some(packs),
        ..CredentialRequest::new(flare_id, &secret)
    };
    // The time that passes between two packs' calls is not part of the name.
    issue_credentials(&flare, platform).map(|issued| issued.backend)
}

fn packs(backend: &BackendConfig, flare_id: &str, sizes: &[u32]) -> Result<Vec<Pack>, Error> {
    testing::packs(sizes, backend, |config: &mut PackConfig| {
        flare_id.clone_into(&mut config.flare_id);
    })
}

fn exchange(packs: &[Pack]) {
    let results = testing::run_on(packs, |worker| {
        let (me, all) = (worker.worker_id(), worker.burst_size());
        worker.all_to_all((0..all).map(|to| pattern(9000, me, to)).collect())?;
        worker.broadcast((me == 1).then(|| pattern(90_000, 1, 0)), 1)?;
        worker.barrier()
    });
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// The user in a URI.
fn user(backend: &BackendConfig) -> String {
    let uri = backend.uri.as_deref().unwrap();
    let rest = uri.strip_prefix("amqp://").unwrap();
    let user = rest.split(':').next().unwrap();
    user.replace("%2E", ".").replace("%2D", "-")
}

/// The server's users and virtual hosts that were created for such flares.
fn made_for(server: &RabbitMq, flares: &str) -> Vec<String> {
    let mut all = server.ask(&["list_users"]);
    all.extend(server.ask(&["list_vhosts"]));
    all.retain(|line| line.contains(&format!(".{flares}")));
    all
}

#[test]
fn a_flare_has_its_own_user_and_virtual_host() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let platform = platform(server);
        // All packs ask concurrently, and any of them may be the first.
        let own = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| issue_until(&platform, "t1-own", 3, soon())))
                .collect();
            let mut given: Vec<_> = asking
                .into_iter()
                .map(|asking| asking.join().unwrap())
                .collect();
            given.dedup();
            assert_eq!(given.len(), 1, "{given:?}");
            given.remove(0)
        });
        let others = issue(&platform, "t1-others", 2).unwrap();
        for given in [&own, &others] {
            let uri = given.uri.as_deref().unwrap();
            assert!(
                !uri.contains(PASSWORD) && !uri.contains("management"),
                "{uri}"
            );
        }
        let neighbours = packs(&others, "t1-others", &[1, 1]).unwrap();
        exchange(&packs(&own, "t1-own", &[2, 1, 1]).unwrap());

        // Neither the platform's virtual host nor another flare's, and no more of its own than it
        // needs.
        let uri = own.uri.clone().unwrap();
        let (address, mine) = uri.split_at(uri.rfind('/').unwrap());
        for place in ["/%2f", "/burst.t1-others"] {
            let (rest, query) = mine
                .split_once('?')
                .map_or(("", ""), |(_, query)| ("?", query));
            let there = own
                .clone()
                .with_uri(format!("{address}{place}{rest}{query}"));
            let error = packs(&there, "t1-others", &[1, 1]).unwrap_err().to_string();
            let refused = ["NOT_ALLOWED", "ACCESS_REFUSED"];
            assert!(
                refused.iter().any(|said| error.contains(said)),
                "{place}: {error}"
            );
        }
        let mut kept = Vec::new();
        let full =
            (0..20).find_map(
                |stray| match packs(&own, &format!("t1-stray-{stray}"), &[1, 1]) {
                    Ok(packs) => {
                        kept.push(packs);
                        None
                    }
                    Err(error) => Some(error.to_string()),
                },
            );
        let full = full.expect("it may declare as many queues as it likes");
        assert!(
            full.contains("PRECONDITION_FAILED")
                || full.contains("NOT_ALLOWED")
                || full.contains("limit"),
            "{full}"
        );

        // The user is removed, with everything that was left there.
        std::mem::forget(kept);
        cleanup("t1-own", &platform).unwrap();
        assert_eq!(made_for(server, "t1-own"), Vec::<String>::new());
        assert!(packs(&own, "t1-own", &[1, 1]).is_err());
        exchange(&neighbours);
        drop(neighbours);
        cleanup("t1-others", &platform).unwrap();
        cleanup("t1-others", &platform).unwrap();
        assert_eq!(made_for(server, "t1-others"), Vec::<String>::new());
    });
}

fn soon() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000)
}

fn issue_until(
    platform: &BackendConfig,
    flare_id: &str,
    packs: u32,
    deadline: SystemTime,
) -> BackendConfig {
    let secret = flare_id.into();
    let flare = CredentialRequest {
        deadline: Some(deadline),
        packs: Some(packs),
        ..CredentialRequest::new(flare_id, &secret)
    };
    issue_credentials(&flare, platform).unwrap().backend
}

/// Each pack learns how much time is left, and computes the end by its own clock.
#[test]
fn packs_with_deadlines_a_second_apart_connect() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let platform = platform(server);
        let ends = (0..3).map(|late| soon() + Duration::from_secs(late));
        let backends: Vec<_> = ends
            .map(|end| issue_until(&platform, "t8", 3, end))
            .collect();
        let packs = packs_with("t8", &backends);
        exchange(&packs);
        drop(packs);
        cleanup("t8", &platform).unwrap();
        assert_eq!(made_for(server, "t8"), Vec::<String>::new());
    });
}

/// The server confirms and drops a message that is published for a missing queue.
#[test]
fn a_pack_on_another_virtual_host_is_reported_lost() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let platform = platform(server);
        let owners = ["t9", "t9", "t9-elsewhere"];
        let backends = owners.map(|owner| issue(&platform, owner, 3).unwrap());
        let packs = packs_with("t9", &backends);
        let begun = Instant::now();
        for (worker, result) in (0..).zip(testing::run_on(&packs, |worker| worker.barrier())) {
            let Err(Error::Aborted(failure)) = result else {
                panic!("expected an abort, not {result:?}");
            };
            assert_eq!(failure.kind, FailureKind::PackLost);
            let missed = PackId(if worker == 2 { 0 } else { 2 });
            assert_eq!(failure.pack, Some(missed), "{worker}: {failure:?}");
        }
        promised(Duration::from_secs(7), begun);
        drop(packs);
        for owner in owners {
            cleanup(owner, &platform).unwrap();
        }
    });
}

#[test]
fn a_group_has_one_user_and_stays_connected() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let proxy = Proxy::to(server.port());
        let platform = platform(server);
        let platform = platform.with_uri(server.managed_uri_at(proxy.port()));
        let (mut kept, mut last, mut first) = (Vec::new(), None::<IssuedBackend>, 0);
        for (number, flare_id) in (0..).zip(["t2-1", "t2-2", "t2-3"]) {
            let secret = flare_id.into();
            let flare = CredentialRequest {
                group: Some("t2"),
                packs: Some(3),
                last: last.as_ref(),
                ..CredentialRequest::new(flare_id, &secret)
            };
            let issued = issue_credentials(&flare, &platform).unwrap();
            let same = |last: &IssuedBackend| last.backend == issued.backend;
            assert!(
                last.as_ref().is_none_or(same),
                "another user for {flare_id}"
            );
            let packs = testing::packs_over(kept, &[1, 1, 1], &issued.backend, |config| {
                flare_id.clone_into(&mut config.flare_id);
            });
            let packs = packs.unwrap();
            exchange(&packs);
            kept = packs.iter().map(Pack::leave).collect();
            drop(packs);
            cleanup(flare_id, &platform).unwrap();
            if number == 0 {
                first = proxy.accepted();
            }
            last = Some(issued);
        }
        assert_eq!(proxy.accepted(), first, "it connected again");
        drop(kept);
        assert_eq!(made_for(server, "t2").len(), 2);
        cleanup("t2", &platform).unwrap();
        assert_eq!(made_for(server, "t2"), Vec::<String>::new());
    });
}

#[test]
fn a_cleanup_removes_users_of_flares_that_are_over() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let platform = platform(server);
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let over = issue_until(&platform, "t3-over", 2, past);
        assert_eq!(user(&over), "burst.1060.t3-over");
        // Like a group that outlives its first user. The other tests' clean-ups run concurrently,
        // so it always has a user that is not over.
        issue_until(&platform, "t3-running", 2, soon());
        issue_until(&platform, "t3-running", 2, past);
        // What is not removed in time is left to the next clean-up.
        while !made_for(server, "t3-over").is_empty() {
            cleanup("t3-another", &platform).unwrap();
        }
        let vhosts = server.ask(&["list_vhosts"]);
        assert!(vhosts.iter().any(|vhost| vhost == "burst.t3-running"));
        cleanup("t3-running", &platform).unwrap();
        assert_eq!(made_for(server, "t3-running"), Vec::<String>::new());
    });
}

#[test]
fn a_flare_is_refused_if_no_user_can_be_created() {
    let server = RabbitMq::managed();
    under_watchdog(move || {
        let nowhere = port::free("127.0.0.1");
        let silent = server.uri() + &format!("?management=http://127.0.0.1:{nowhere}");
        let silent = BackendConfig::new("rabbitmq").with_uri(silent);
        let error = issue(&silent, "t4", 2).unwrap_err().to_string();
        assert!(error.contains("rabbitmq_management"), "{error}");
        assert!(
            error.contains("shared-credentials") && !error.contains(PASSWORD),
            "{error}"
        );

        // A user without a tag, like those of flares.
        let platform = platform(server);
        let nobody = issue(&platform, "t4-nobody", 2).unwrap();
        let (login, _) = nobody.uri.as_deref().unwrap().split_once('@').unwrap();
        let management = server.managed_uri().split_once('@').unwrap().1.to_owned();
        let nobody = nobody.clone().with_uri(format!("{login}@{management}"));
        let error = issue(&nobody, "t4", 2).unwrap_err().to_string();
        assert!(error.contains("administrator"), "{error}");
        cleanup("t4-nobody", &platform).unwrap();

        let odd = issue(&platform, "t4/../..", 2).unwrap_err().to_string();
        assert!(odd.contains("ids of flares"), "{odd}");
        let shared = silent.with_shared_credentials();
        assert_eq!(issue(&shared, "t4", 2), Ok(shared));
    });
}

/// Starts a management API that answers with `answer` until a request begins with `last`. `answer`
/// receives the request's first line and those of earlier requests, and returns the status and the
/// body. Returns the API's address, and a thread that ends with all requests.
fn management(
    mut answer: impl FnMut(&str, &[String]) -> (&'static str, &'static str) + Send + 'static,
    last: &'static str,
) -> (BackendConfig, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), [0; 4096]);
            let length = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let line = request.lines().next().unwrap().to_owned();
            let (status, body) = answer(&line, &asked);
            let head = "Content-Type: application/json\r\nConnection: close";
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            asked.push(line);
            if asked.last().unwrap().starts_with(last) {
                return asked;
            }
        }
        asked
    });
    let uri = format!("amqp://a:b@127.0.0.1/%2f?management=http://{address}");
    (BackendConfig::new("rabbitmq").with_uri(uri), serving)
}

/// If two packs create the same virtual host at the same time, one receives the answer before it
/// has started.
#[test]
fn a_virtual_host_that_is_just_starting_is_waited_for() {
    under_watchdog(|| {
        let looks = |asked: &[String]| {
            let looks = asked.iter().filter(|line| line.contains("GET /api/vhosts"));
            looks.count()
        };
        let answer = move |line: &str, asked: &[String]| match line {
            line if line.starts_with("GET /api/permissions") => ("404 Not Found", ""),
            line if line.starts_with("GET") && looks(asked) < 2 => {
                ("200 OK", r#"{"cluster_state":{"one":"stopped"}}"#)
            }
            line if line.starts_with("GET") => ("200 OK", r#"{"cluster_state":{"one":"running"}}"#),
            _ => ("204 No Content", ""),
        };
        let (platform, server) = management(answer, "PUT /api/permissions");
        issue(&platform, "t6", 2).unwrap();
        let asked = server.join().unwrap();
        assert_eq!(looks(&asked), 3, "{asked:#?}");
    });
}

/// The flare's own is removed, and so are others that are over, even if one of them cannot be
/// removed.
#[test]
fn a_failed_removal_does_not_prevent_others() {
    under_watchdog(|| {
        let users =
            r#"[{"name":"burst.1.stuck"},{"name":"burst.2.over"},{"name":"burst.9999999999.t7"}]"#;
        let answer = move |line: &str, _: &[String]| match line {
            line if line.starts_with("GET") => ("200 OK", users),
            line if line.contains("stuck") => ("500 Internal Server Error", "stuck"),
            _ => ("204 No Content", ""),
        };
        let (platform, server) = management(answer, "DELETE /api/users/burst.2.over");
        // Leftovers of another flare do not make this clean-up fail.
        cleanup("t7", &platform).unwrap();
        let asked = server.join().unwrap();
        let place = |what: &str| asked.iter().position(|line| line.contains(what));
        let own = place("DELETE /api/users/burst.9999999999.t7").unwrap();
        for other in ["stuck", "over"] {
            let asked_first = place(other).is_some_and(|other| other < own);
            assert!(!asked_first, "{asked:#?}");
        }
        // The user stays, so that the leftovers can be found.
        assert_eq!(place("DELETE /api/users/burst.1.stuck"), None);
    });
}

/// A busy server answers too late, or with an error: the request is repeated.
#[test]
fn a_failed_removal_is_repeated() {
    under_watchdog(|| {
        let refused = |asked: &[String]| {
            let vhosts = asked
                .iter()
                .filter(|line| line.starts_with("DELETE /api/vhosts"));
            vhosts.count() < 2
        };
        let answer = move |line: &str, asked: &[String]| match line {
            line if line.starts_with("GET") => ("200 OK", r#"[{"name":"burst.9999999999.t11"}]"#),
            line if line.contains("vhosts") && refused(asked) => ("503 Service Unavailable", ""),
            _ => ("204 No Content", ""),
        };
        let (platform, server) = management(answer, "DELETE /api/users");
        cleanup("t11", &platform).unwrap();
        let asked = server.join().unwrap();
        let vhosts = asked.iter().filter(|line| line.contains("vhosts"));
        assert_eq!(vhosts.count(), 3, "{asked:#?}");
    });
}

/// A pack of a flare that is over is admitted while a clean-up runs: the virtual host belongs to
/// it, too.
#[test]
fn a_pack_admitted_during_a_cleanup_keeps_its_virtual_host() {
    under_watchdog(|| {
        let looks = |asked: &[String]| {
            let looks = asked.iter().filter(|line| line.starts_with("GET"));
            looks.count()
        };
        let answer = move |line: &str, asked: &[String]| match (line, looks(asked)) {
            (line, 0) if line.starts_with("GET") => (
                "200 OK",
                r#"[{"name":"burst.1.again"},{"name":"burst.2.over"}]"#,
            ),
            (line, _) if line.starts_with("GET") => (
                "200 OK",
                r#"[{"name":"burst.1.again"},{"name":"burst.9999999999.again"},{"name":"burst.2.over"}]"#,
            ),
            _ => ("204 No Content", ""),
        };
        let (platform, server) = management(answer, "DELETE /api/users/burst.2.over");
        cleanup("t10", &platform).unwrap();
        let asked = server.join().unwrap();
        let of_it = asked.iter().filter(|line| line.contains("again"));
        assert_eq!(of_it.count(), 0, "{asked:#?}");
    });
}
