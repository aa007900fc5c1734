//! The work function of `tests/programs/collectives`, which calls every collective operation.

use crate::Api;

/// Name under which it is deployed.
pub const NAME: &str = "collectives";

/// The methods that it calls, in order.
const OPERATIONS: [&str; 22] = [
    "barrier",
    "broadcast",
    "scatter",
    "gather",
    "all_gather",
    "reduce",
    "all_reduce",
    "reduce_elements",
    "all_reduce_elements",
    "all_to_all",
    "reduce_scatter",
    "scan",
    "exclusive_scan",
    "send",
    "send_tagged",
    "recv_tagged",
    "recv",
    "send_recv",
    "recv_any",
    "isend",
    "irecv",
    "split",
];

/// Checks that every worker of a flare has called all of them.
#[track_caller]
pub fn all_called(api: &Api, flare: &str) {
    for output in api.result(flare).outputs {
        let called: Vec<String> = output.read().unwrap().unwrap();
        assert_eq!(called, OPERATIONS);
    }
}
