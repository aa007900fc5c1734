//! Redis shared by tenants: what a flare's user may do there, servers on which flares are refused,
//! and workers that corrupt the keys of their own flare.

use std::time::{Duration, Instant, SystemTime};

use burst_bcm::{
    BackendConfig, CredentialRequest, Error, FailureKind, Pack, PackConfig, cleanup,
    issue_credentials, testing,
};

use crate::harness::{packs_with, pattern, promised, under_watchdog};
use burst_test_servers::Redis;

pub const KINDS: [&str; 2] = ["redis-list", "redis-stream"];

/// Commands that are always allowed: to identify oneself, and to leave.
const ALWAYS: [&str; 4] = ["auth", "hello", "quit", "reset"];
const ALLOWED: [&str; 17] = [
    "blpop",
    "decr",
    "del",
    "expire",
    "get",
    "incr",
    "ping",
    "publish",
    "rpush",
    "sadd",
    "scard",
    "set",
    "subscribe",
    "unsubscribe",
    "xadd",
    "xdel",
    "xread",
];

pub fn issue(platform: &BackendConfig, flare_id: &str) -> Result<BackendConfig, Error> {
    // Its user expires soon after that, which no test may outlive.
    let end = SystemTime::now() + Duration::from_secs(3600);
    issue_until(platform, flare_id, end)
}

fn issue_until(
    platform: &BackendConfig,
    flare_id: &str,
    end: SystemTime,
) -> Result<BackendConfig, Error> {
    let secret = flare_id.into();
    let flare = CredentialRequest {
        deadline: Some(end),
        ..CredentialRequest::new(flare_id, &secret)
    };
    issue_credentials(&flare, platform).map(|issued| issued.backend)
}

pub fn packs(backend: &BackendConfig, flare_id: &'static str, sizes: &[u32]) -> Vec<Pack> {
    let configure = |config: &mut PackConfig| config.flare_id = flare_id.to_owned();
    testing::packs(sizes, backend, configure).unwrap()
}

/// Every worker exchanges messages with every other, for so many rounds, and checks what arrives.
pub fn exchange(packs: &[Pack], rounds: u32) -> Vec<Result<(), Error>> {
    testing::run_on(packs, |worker| {
        let (me, all) = (worker.worker_id(), worker.burst_size());
        for round in 0..rounds {
            let got = worker.all_to_all((0..all).map(|to| pattern(9000, me, to)).collect())?;
            assert!(
                got == (0..all)
                    .map(|from| pattern(9000, from, me))
                    .collect::<Vec<_>>()
            );
            let root = round % all;
            let cast =
                worker.broadcast((me == root).then(|| pattern(90_000, root, round)), root)?;
            assert!(*cast == pattern(90_000, root, round));
            worker.barrier()?;
        }
        Ok(())
    })
}

fn connection(backend: &BackendConfig) -> redis::Connection {
    let client = redis::Client::open(backend.uri.as_deref().unwrap()).unwrap();
    client.get_connection().unwrap()
}

fn say(connection: &mut redis::Connection, words: &[&str]) -> Result<(), String> {
    let answer = redis::cmd(words[0]).arg(&words[1..]).exec(connection);
    answer.map_err(|error| error.to_string())
}

fn is_refusal(answer: &Result<(), String>) -> bool {
    let error = answer.as_ref().err();
    error.is_some_and(|error| error.contains("NOPERM") || error.contains("permission"))
}

/// Checks that the flare fails within the limit, and returns the failure's message.
pub fn fails(packs: &[Pack], limit: Duration) -> String {
    let begun = Instant::now();
    let results = exchange(packs, 100_000);
    promised(limit, begun);
    let mut said = String::new();
    for result in results {
        match result.unwrap_err() {
            Error::Aborted(failure) => {
                assert_eq!(failure.kind, FailureKind::Backend, "{failure}");
                said = failure.to_string();
            }
            Error::Backend { reason, .. } => said = reason,
            other => panic!("not the backend's: {other}"),
        }
    }
    said
}

#[test]
fn a_flare_may_only_use_commands_that_carry_messages() {
    // Commands that are disabled by default would be refused before rights are checked.
    let server = Redis::with(&[
        "--enable-debug-command",
        "yes",
        "--enable-module-command",
        "yes",
    ]);
    under_watchdog(move || {
        let platform = BackendConfig::new("redis-list").with_uri(server.uri());
        let own = issue(&platform, "own").unwrap();
        let commands: Vec<String> = server.ask(&["COMMAND", "LIST"]);
        assert!(commands.len() > 200, "{commands:?}");
        for command in &commands {
            // Commands with subcommands are only names.
            let container = format!("{command}|");
            if ALWAYS.contains(&&**command) || commands.iter().any(|c| c.starts_with(&container)) {
                continue;
            }
            // Enough arguments for the server to check the user's rights.
            let known: redis::Value = server.ask(&["COMMAND", "INFO", command]);
            let mut words: Vec<&str> = command.split('|').collect();
            while words.len() < arity(&known) {
                words.push("burst:own:0");
            }
            // A subscribed connection accepts few commands.
            let answer = say(&mut connection(&own), &words);
            let allowed = ALLOWED.contains(&&**command);
            assert_eq!(is_refusal(&answer), !allowed, "{words:?}: {answer:?}");
        }
        let mut connection = connection(&own);
        for words in [
            ["GET", "burst:others:heartbeat:0"],
            ["DECR", "burst:others:heartbeat:0"],
            ["DEL", "burst:others:heartbeat:0"],
            ["INCR", "burst:ownother"],
            ["SCARD", "other"],
            ["SUBSCRIBE", "burst:others:here:0"],
        ] {
            assert!(is_refusal(&say(&mut connection, &words)), "{words:?}");
        }
        for words in [
            "BLPOP burst:own:a burst:others:a 1",
            "DEL burst:own:a burst:others:a",
            "EXPIRE burst:others:a 1",
            "PUBLISH burst:others:here:0 1",
            "RPUSH burst:others:a 1",
            "SADD burst:others:a 1",
            "SET burst:others:a 1",
            "XADD burst:others:a * f 1",
            "XDEL burst:others:a 1-1",
            "XREAD STREAMS burst:own:a burst:others:a 0 0",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            assert!(is_refusal(&say(&mut connection, &words)), "{words:?}");
        }
    });
}

/// The least number of words of a command, its name included.
fn arity(known: &redis::Value) -> usize {
    let redis::Value::Array(commands) = known else {
        panic!("{known:?}");
    };
    let redis::Value::Array(parts) = &commands[0] else {
        panic!("{known:?}");
    };
    let redis::Value::Int(arity) = parts[1] else {
        panic!("{known:?}");
    };
    arity.unsigned_abs() as usize
}

#[test]
fn a_flare_stays_in_its_database_and_leaves_no_key() {
    let server = Redis::start();
    under_watchdog(move || {
        for (kind, database) in [("redis-list", 0), ("redis-list", 3), ("redis-stream", 3)] {
            let uri = server.uri().replace("/0", &format!("/{database}"));
            let platform = BackendConfig::new(kind).with_uri(uri);
            let own = issue(&platform, "own").unwrap();
            let packs = packs(&own, "own", &[1, 1]);
            assert_eq!(exchange(&packs, 3), vec![Ok(()); 2]);

            let mut connection = connection(&own);
            let mut there = 0;
            for other in 0..16 {
                match say(&mut connection, &["SELECT", &other.to_string()]) {
                    // The database in which its connection begins, and that of its messages.
                    Ok(()) => assert_eq!(other, database),
                    refused => assert!(is_refusal(&refused), "{other}: {refused:?}"),
                }
                let key = format!("burst:own:{other}");
                say(&mut connection, &["SET", &key, "for ever"]).unwrap();
                there += 1;
            }
            assert_eq!(there, 16);
            // The database in which every connection begins.
            let begin = own
                .uri
                .as_ref()
                .unwrap()
                .replace(&format!("/{database}"), "/0");
            let mut begin = self::connection(&own.clone().with_uri(begin));
            say(&mut begin, &["SET", "burst:own:begin", "for ever"]).unwrap();
            drop(packs);
            cleanup("own", &platform).unwrap();
            let left: String = server.ask(&["INFO", "keyspace"]);
            assert!(!left.contains("keys="), "{left}");
        }
    });
}

/// Each pack learns how much time is left, and computes the end by its own clock.
#[test]
fn packs_with_deadlines_a_second_apart_connect() {
    let server = Redis::start();
    under_watchdog(move || {
        for kind in KINDS {
            let platform = BackendConfig::new(kind).with_uri(server.uri());
            let now = SystemTime::now();
            let ends = (3600..3603).map(|left| now + Duration::from_secs(left));
            let backends: Vec<_> = ends
                .map(|end| issue_until(&platform, "t8", end).unwrap())
                .collect();
            let packs = packs_with("t8", &backends);
            assert_eq!(exchange(&packs, 2), [Ok(()), Ok(()), Ok(())]);
            drop(packs);
            cleanup("t8", &platform).unwrap();
            assert_eq!(server.users(), ["default"]);
        }
    });
}

#[test]
fn a_server_without_a_password_is_refused() {
    let server = Redis::start();
    under_watchdog(move || {
        let rights = ["ON", ">platform", "~*", "&*", "+@all"];
        let maker: Vec<&str> = ["ACL", "SETUSER", "platform"]
            .into_iter()
            .chain(rights)
            .collect();
        server.ask::<()>(&maker);
        let uri = server.uri().replace("redis://:", "redis://platform:");
        let uri = uri.replace(burst_test_servers::redis::PASSWORD, "platform");
        let platform = BackendConfig::new("redis-list").with_uri(uri);
        issue(&platform, "before").unwrap();

        server.ask::<()>(&["ACL", "SETUSER", "default", "nopass"]);
        let open = BackendConfig::new("redis-list")
            .with_uri(format!("redis://127.0.0.1:{}", server.port()));
        for backend in [&platform, &open] {
            let error = issue(backend, "own").unwrap_err().to_string();
            assert!(error.contains("no password"), "{error}");
            let shared = backend.clone().with_shared_credentials();
            assert_eq!(issue(&shared, "own").unwrap(), shared);
        }
        // A user without rights does no harm.
        let mut admin = connection(&platform);
        say(&mut admin, &["ACL", "SETUSER", "default", "-@all", "+ping"]).unwrap();
        let own = issue(&platform, "own").unwrap();
        assert_eq!(exchange(&packs(&own, "own", &[1, 1]), 3), vec![Ok(()); 2]);
    });
}

#[test]
fn a_server_that_drops_messages_is_refused() {
    let server = Redis::start();
    under_watchdog(move || {
        for kind in KINDS {
            let platform = BackendConfig::new(kind).with_uri(server.uri());
            for policy in [
                "allkeys-lru",
                "volatile-ttl",
                "allkeys-random",
                "noeviction",
            ] {
                server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", policy]);
                match issue(&platform, "own") {
                    Ok(_) => assert_eq!(policy, "noeviction"),
                    Err(error) => {
                        let error = error.to_string();
                        let says = format!("maxmemory-policy is {policy}");
                        assert!(error.contains(&says) && policy != "noeviction", "{error}");
                    }
                }
            }
        }
    });
}

/// Commands that turn keys of a flare of three packs into values of the wrong kind.
fn spoilers(kind: &str) -> Vec<Vec<&'static str>> {
    let lists: &[&str] = &[
        "SET burst:own:pack:1 x",
        "SET burst:own:control:1 x",
        "RPUSH burst:own:heartbeat:1 x",
        "SET burst:own:heartbeat:1 x",
        "SET burst:own:heartbeat:1 9223372036854775807",
        "SET burst:own:heartbeat:1 -5",
        "RPUSH burst:own:pack:1 x",
        "RPUSH burst:own:control:1 x",
        "SADD burst:own:pack:1 x",
        "DEL burst:own:heartbeat:1",
    ];
    let streams: &[&str] = &[
        "SET burst:own:lane:1:0 x",
        "SET burst:own:lane:1:1 x",
        "SET burst:own:control:1 x",
        "SET burst:own:cast x",
        "RPUSH burst:own:heartbeat:1 x",
        "SET burst:own:heartbeat:1 x",
        "XADD burst:own:lane:1:0 18446744073709551615-18446744073709551615 f x",
        "XADD burst:own:control:1 * f x",
        "XADD burst:own:cast * f x",
        "XADD burst:own:lane:1:0 * a b c d",
        "DEL burst:own:heartbeat:1",
    ];
    let all = if kind == "redis-list" { lists } else { streams };
    all.iter().map(|line| line.split(' ').collect()).collect()
}

#[test]
fn corrupted_keys_fail_only_their_flare() {
    let server = Redis::start();
    under_watchdog(move || {
        for kind in KINDS {
            let platform = BackendConfig::new(kind).with_uri(server.uri());
            let neighbours = packs(&issue(&platform, "others").unwrap(), "others", &[1, 1]);
            for words in spoilers(kind) {
                let own = issue(&platform, "own").unwrap();
                let running = packs(&own, "own", &[1, 1, 1]);
                let mut hostile = connection(&own);
                let key = words[1];
                std::thread::scope(|scope| {
                    let spoiling = scope.spawn(|| {
                        while running[0].communicators()[0].check().is_ok() {
                            // Until the flare has failed: it may repair the key.
                            if say(&mut hostile, &words).is_err() {
                                say(&mut hostile, &["DEL", key]).unwrap();
                            }
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                    let said = fails(&running, Duration::from_secs(8));
                    assert!(!said.is_empty(), "{words:?}");
                    spoiling.join().unwrap();
                });
                drop(running);
                assert_eq!(exchange(&neighbours, 2), vec![Ok(()); 2], "{words:?}");
                cleanup("own", &platform).unwrap();
                assert!(
                    server
                        .keys()
                        .iter()
                        .all(|key| key.starts_with("burst:others:"))
                );
                let next = packs(&issue(&platform, "next").unwrap(), "next", &[1, 1, 1]);
                assert_eq!(exchange(&next, 2), vec![Ok(()); 3], "{words:?}");
                drop(next);
                cleanup("next", &platform).unwrap();
            }
            drop(neighbours);
            cleanup("others", &platform).unwrap();
        }
    });
}
