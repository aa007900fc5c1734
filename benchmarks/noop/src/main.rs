//! A work function that does nothing, whatever its input, to measure all that is not the work.

use serde::de::IgnoredAny;

fn work(_: IgnoredAny, _: &burst::BurstContext) -> Result<(), burst::Error> {
    Ok(())
}

burst::main!(work);
