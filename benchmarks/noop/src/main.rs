//! A work function that does nothing, to measure all that is not the work.

use std::collections::HashMap;

fn work(_: HashMap<String, String>, _: &burst::BurstContext) -> Result<(), burst::Error> {
    Ok(())
}

burst::main!(work);
