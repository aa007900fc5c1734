//! A work function. Every worker of a flare runs it, all at the same time.
//!
//! `cargo test` runs it on threads, `burst run` on the platform.

use burst::BurstContext;

/// What each worker is given, as JSON.
#[derive(serde::Deserialize)]
struct Input {
    name: String,
}

fn work(input: Input, burst: &BurstContext) -> Result<String, burst::Error> {
    let (me, n) = (burst.worker_id(), burst.burst_size());
    println!("greeting {}", input.name);
    Ok(format!("Hello, {}, from worker {me} of {n}", input.name))
}

burst::main!(work);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_greets() {
        let inputs = ["Ada", "Grace", "Edsger"].map(|name| Input { name: name.into() });
        // In packs of two workers.
        let outputs = burst::testing::run(work, inputs, 2).unwrap();
        assert_eq!(outputs[1], "Hello, Grace, from worker 1 of 3");
    }
}
