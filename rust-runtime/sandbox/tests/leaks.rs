//! Shims that are killed at any moment leave nothing but an empty control group.

use std::thread;
use std::time::Duration;

use crate::support::{Pack, everybody};

/// The kills are spread over the duration of a start, from the shim's first instruction on.
const KILLS: u64 = 60;
const STEP: Duration = Duration::from_micros(400);

#[test]
fn a_shim_killed_at_any_time_leaves_nothing() {
    for who in everybody() {
        let pack = Pack::new(who);
        for kill in 0..KILLS {
            let shim = pack.launch("crowd");
            thread::sleep(STEP * kill as u32);
            shim.signal(libc::SIGKILL);
            shim.wait();
            pack.assert_no_process();
            if let Some(group) = pack.spec["group"].as_str() {
                let removed = pack.run(&["sandbox", "--remove", group]);
                assert!(removed.status.success(), "{removed:?}");
            }
            pack.assert_gone();
        }
    }
}
