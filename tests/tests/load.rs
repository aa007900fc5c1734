//! Many clients at once on a cluster: nothing is lost and nothing is run twice. `make load` is the long version.

use burst_tests::cluster::Setup;
use burst_tests::{Cluster, Driver, load};

const CLIENTS: usize = 20;
const FLARES: usize = 300;

#[test]
fn each_of_many_clients_gets_its_own_answer_once() {
    // No node that a busy machine delays is given up: its clients would get no answer.
    let setup = Setup::new(Driver::Process).controllers(2).invokers(2);
    let setup = setup.line("pekko.cluster.failure-detector.acceptable-heartbeat-pause = 30s");
    let cluster = Cluster::start(setup);
    cluster.deploy(load::PROGRAM);
    let apis = cluster.apis();
    let served = load::run(&apis, CLIENTS, 0..FLARES);
    assert_eq!(served.len(), FLARES);
    load::ran_once(&apis, CLIENTS, &served);
    load::assert_all_slots_are_free(&cluster);
}
