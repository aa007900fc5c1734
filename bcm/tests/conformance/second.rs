//! The second flare of the same packs, over the connections of the first. The suite covers what it
//! has in common with any other flare; these tests cover the rest.

use std::time::{Duration, Instant};

use burst_bcm::{
    BackendConfig, Communicator, Connections, Error, FailureKind, Pack, PackConfig, PackId, Tag,
    Topology, testing,
};

use crate::harness::{OPERATION_TIMEOUT, eventually, pattern, promised, under_watchdog};
use crate::proxy::Proxy;

const PACKS: u32 = 3;

/// Packs of one worker each that communicate over TCP, each with a proxy in front of it.
struct Proxied {
    packs: Vec<Pack>,
    proxies: Vec<Proxy>,
}

fn config(flare: &str, pack: u32) -> PackConfig {
    let topology = Topology::new(&[1; PACKS as usize]).unwrap();
    let mut config = PackConfig::new(flare, PackId(pack), topology);
    config.backend = BackendConfig::new("direct").with_uri("tcp:");
    // Anything that is given up is given up in the middle of a frame.
    config.backend.chunk_size = Some(64 << 20);
    // Each flare has its own secret.
    config.secret = flare.into();
    config.operation_timeout = OPERATION_TIMEOUT;
    config
}

fn port_of(endpoint: &str) -> u16 {
    endpoint.rsplit(':').next().unwrap().parse().unwrap()
}

impl Proxied {
    fn first() -> Self {
        let join = |pack| Pack::join(config("first", pack)).unwrap();
        let packs: Vec<_> = (0..PACKS).map(join).collect();
        let endpoints = packs.iter().filter_map(Pack::endpoint);
        let proxies = endpoints.map(|endpoint| Proxy::to(port_of(&endpoint)));
        let proxied = Self {
            proxies: proxies.collect(),
            packs,
        };
        proxied.start();
        proxied
    }

    /// The packs in their second flare.
    fn second() -> Self {
        let mut proxied = Self::first();
        proxied.exchange();
        proxied.next("second");
        proxied.exchange();
        proxied
    }

    fn endpoints(&self) -> Vec<String> {
        let ports = self.proxies.iter().map(Proxy::port);
        ports.map(|port| format!("127.0.0.1:{port}")).collect()
    }

    fn start(&self) {
        for pack in &self.packs {
            pack.start(self.endpoints()).unwrap();
        }
    }

    fn leave(&self) -> Vec<Option<Connections>> {
        self.packs.iter().map(Pack::leave).collect()
    }

    fn join_next(&mut self, flare: &str, kept: Vec<Option<Connections>>) {
        let join = |(pack, kept)| Pack::join_over(kept, config(flare, pack)).unwrap();
        self.packs = (0..PACKS).zip(kept).map(join).collect();
    }

    fn next(&mut self, flare: &str) {
        let kept = self.leave();
        self.join_next(flare, kept);
        self.start();
    }

    fn worker(&self, pack: usize) -> Communicator {
        self.packs[pack].communicators().remove(0)
    }

    /// Every worker exchanges messages with every other.
    fn exchange(&self) {
        let results = testing::run_on(&self.packs, |worker| {
            let all = 0..worker.burst_size();
            worker.all_to_all(all.map(|to| vec![to; 1000]).collect())
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }

    /// Cuts the connections to a pack, which fails the flare.
    fn lose(&self, pack: usize) {
        let begun = Instant::now();
        self.proxies[pack].cut();
        let error = self.worker(0).recv::<u8>(0).unwrap_err();
        let Error::Aborted(failure) = error else {
            panic!("expected an abort, not {error}");
        };
        assert_eq!(failure.kind, FailureKind::PackLost);
        promised(Duration::from_secs(1), begun);
    }

    fn accepted(&self) -> usize {
        self.proxies.iter().map(Proxy::accepted).sum()
    }
}

/// Runs a second flare and some more on the same packs, whose server is behind a proxy. In the last
/// one a pack leaves early.
pub fn stays_connected(backend: &BackendConfig, proxy: &Proxy) {
    let (mut kept, mut first) = (Vec::new(), None);
    let last = 5;
    for flare in 1..=last {
        let packs = testing::packs_over(kept, &[1, 1, 1], backend, |_| {}).unwrap();
        let results = testing::run_on(&packs, |worker| {
            let me = worker.worker_id();
            worker.all_to_all((0..3).map(|to| pattern(9000, me, to)).collect())?;
            let value = pattern(90_000, 1, flare);
            assert!(*worker.broadcast((me == 1).then(|| value.clone()), 1)? == value);
            // Nobody receives it.
            worker.send(pattern(100, me, flare), (me + 1) % 3)?;
            worker.barrier()
        });
        assert_eq!(results, vec![Ok(()); 3]);
        if flare == last {
            let _kept = packs[2].leave();
            let late = packs[0].communicators().remove(0);
            assert_eq!(late.recv::<Vec<u8>>(2), Ok(pattern(100, 2, flare)));
            let error = late.recv::<Vec<u8>>(2).unwrap_err();
            assert!(matches!(error, Error::Departed { .. }), "{error}");
            break;
        }
        kept = packs.iter().map(Pack::leave).collect();
        first.get_or_insert(proxy.accepted());
    }
    // A client may open one more when it is busy.
    let (all, first) = (proxy.accepted(), first.unwrap());
    assert!(all < 2 * first, "{first} in the first flare, {all} in all");
}

/// Runs a second flare on packs whose connections fell silent while they rested: nobody hung up,
/// but nothing gets through any more.
pub fn replaces_silent_connections(backend: &BackendConfig, proxy: &Proxy) {
    let exchange = |packs: &[Pack]| {
        let results = testing::run_on(packs, |worker| {
            let me = worker.worker_id();
            worker.all_to_all((0..3).map(|to| pattern(9000, me, to)).collect())
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    };
    let packs = testing::packs(&[1, 1, 1], backend, |_| {}).unwrap();
    exchange(&packs);
    let kept = packs.iter().map(Pack::leave).collect();
    proxy.hold_what_is_open();
    exchange(&testing::packs_over(kept, &[1, 1, 1], backend, |_| {}).unwrap());
}

#[test]
fn connections_are_reused() {
    under_watchdog(|| {
        let mut proxied = Proxied::first();
        proxied.exchange();
        let first = proxied.accepted();
        proxied.next("second");
        proxied.exchange();
        // Everything the first flare started is done: watches may have probed the other packs.
        let second = proxied.accepted();
        assert!(second - first <= first, "{second} after {first}");
        let more = ["third", "fourth", "fifth", "sixth"];
        for flare in more {
            proxied.next(flare);
            proxied.exchange();
        }
        // The middle of the watch may have probed the others once, while they dialled it.
        let dialled = proxied.accepted() - second;
        assert!(dialled < more.len(), "{dialled} after {second}");
    });
}

#[test]
fn late_messages_of_the_first_flare_are_dropped() {
    under_watchdog(|| {
        let mut proxied = Proxied::first();
        proxied.exchange();
        proxied.proxies[1].hold();
        let first = proxied.worker(0);
        first.send("of the first flare".to_owned(), 1).unwrap();
        proxied.next("second");
        proxied
            .worker(0)
            .send("of the second".to_owned(), 1)
            .unwrap();
        proxied.proxies[1].release();
        let received = proxied.worker(1).recv::<String>(0);
        assert_eq!(received.as_deref(), Ok("of the second"));
        // Its goodbye was not taken for one of this flare either.
        proxied.exchange();
        // Once that has arrived, the connections count like any other.
        proxied.lose(1);
    });
}

#[test]
fn an_interrupted_send_of_the_first_flare_does_not_harm_the_second() {
    under_watchdog(|| {
        let mut proxied = Proxied::first();
        proxied.exchange();
        proxied.proxies[1].hold();
        // More than fits into the connection: the pack leaves in the middle of it.
        let sending = proxied
            .worker(0)
            .isend(vec![7_u8; 32 << 20], 1, Tag(1))
            .unwrap();
        eventually("it is on its way", || proxied.proxies[1].holds());
        let kept = proxied.leave();
        assert_eq!(sending.wait(), Err(Error::Closed));
        proxied.join_next("second", kept);
        proxied.start();
        proxied.proxies[1].release();
        // For longer than a pack is given after its connection ended without a goodbye.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) {
            proxied.exchange();
        }
    });
}

#[test]
fn a_pack_that_leaves_while_sending_has_departed() {
    under_watchdog(|| {
        let proxied = Proxied::first();
        proxied.proxies[1].hold();
        // Nothing was sent this way before: it is being dialled.
        let sending = proxied.worker(0).isend(7_u8, 1, Tag(1)).unwrap();
        eventually("it is being dialled", || proxied.proxies[1].holds());
        let _kept = proxied.packs[0].leave();
        proxied.proxies[1].release();
        assert_eq!(sending.wait(), Ok(()));
        let late = proxied.worker(1);
        // On a busy machine the message may arrive too late.
        let error = loop {
            match late.recv_tagged::<u8>(0, Tag(1)) {
                Ok(value) => assert_eq!(value, 7),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Departed { .. }), "{error}");
    });
}

#[test]
fn a_pack_that_leaves_early_is_noticed_by_all() {
    under_watchdog(|| {
        for pack in 0..PACKS as usize {
            let proxied = Proxied::second();
            let left = proxied.packs[pack].leave();
            let begun = Instant::now();
            for other in (0..PACKS as usize).filter(|&other| other != pack) {
                let error = proxied.worker(other).recv::<u8>(pack as u32).unwrap_err();
                assert!(matches!(error, Error::Departed { .. }), "{error}");
            }
            promised(Duration::from_secs(1), begun);
            drop(left);
        }
    });
}

#[test]
fn a_pack_whose_connections_break_is_lost() {
    under_watchdog(|| {
        for pack in 0..PACKS as usize {
            let proxied = Proxied::second();
            // The others have dialled the middle, but no longer hear anything from it.
            proxied.lose(pack);
        }
    });
}

#[test]
fn idle_packs_hang_up_when_their_connections_are_dropped() {
    under_watchdog(|| {
        let proxied = Proxied::first();
        proxied.exchange();
        let begun = Instant::now();
        drop(proxied.leave());
        promised(Duration::from_secs(1), begun);
        let endpoint = proxied.packs[0].endpoint().unwrap();
        // A process that another test is just starting may have a copy of the listener until it
        // executes its own program.
        eventually("somebody listens still", || {
            std::net::TcpStream::connect(&endpoint).is_err()
        });
    });
}

#[test]
fn packs_at_other_endpoints_are_refused() {
    under_watchdog(|| {
        let mut proxied = Proxied::first();
        proxied.exchange();
        let mut kept = proxied.leave();
        // One pack has lost what it kept, and listens again.
        kept[1] = None;
        proxied.join_next("second", kept);
        let mut endpoints = proxied.endpoints();
        endpoints[1] = proxied.packs[1].endpoint().unwrap();
        let error = proxied.packs[0].start(endpoints).unwrap_err();
        assert!(
            matches!(error, Error::InvalidConfiguration { .. }),
            "{error}"
        );
    });
}

#[test]
fn packs_of_other_sizes_connect_anew() {
    under_watchdog(|| {
        let first = testing::packs(&[1, 1], &BackendConfig::new("direct"), |_| {});
        let kept = first.unwrap().iter().map(Pack::leave).collect();
        let sizes = [1, 2];
        let packs = testing::packs_over(kept, &sizes, &BackendConfig::new("direct"), |_| {});
        let results = testing::run_on(&packs.unwrap(), |worker| worker.barrier());
        assert_eq!(results, [Ok(()), Ok(()), Ok(())]);
    });
}

#[test]
fn a_single_pack_keeps_nothing() {
    let pack = Pack::join(PackConfig::new(
        "alone",
        PackId(0),
        Topology::single(2).unwrap(),
    ))
    .unwrap();
    pack.start(vec![]).unwrap();
    assert!(pack.leave().is_none());
}
