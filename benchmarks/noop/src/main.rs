//! A work function that ignores its input and does nothing, to measure the platform's overhead.

use serde::de::IgnoredAny;

fn work(_: IgnoredAny, _: &burst::BurstContext) -> Result<(), burst::Error> {
    Ok(())
}

burst::main!(work);
