//! A work function that loads an object, if its input names one, and then sleeps.

use burst::{BurstContext, data};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Deserialize)]
struct Input {
    /// An object that all workers of a pack load together.
    load: Option<String>,
    /// Milliseconds to sleep.
    #[serde(default)]
    sleep: u64,
}

/// Proof of what was loaded.
#[derive(Serialize)]
struct Loaded {
    bytes: usize,
    /// The checksum of the worker's share of its pack's buffer; that of the whole buffer would take
    /// longer than loading.
    crc: u32,
}

fn work(input: Input, burst: &BurstContext) -> Result<Option<Loaded>, burst::Error> {
    burst.phase("load");
    let loaded = input.load.map(|location| data::load(burst, &location));
    let loaded = loaded.transpose()?;
    burst.phase("loaded");
    std::thread::sleep(Duration::from_millis(input.sleep));
    Ok(loaded.map(|bytes| {
        let share = data::share(bytes.len() as u64, burst.part());
        Loaded {
            bytes: bytes.len(),
            crc: crc32fast::hash(&bytes[share.start as usize..share.end as usize]),
        }
    }))
}

burst::main!(work);
