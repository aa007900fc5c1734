//! The smallest work function: every worker greets.

use burst::BurstContext;

#[derive(serde::Deserialize)]
struct Input {
    name: String,
}

fn work(input: Input, burst: &BurstContext) -> Result<String, burst::Error> {
    println!("greeting {}", input.name);
    Ok(format!(
        "Hello, {}, from worker {} of {}",
        input.name,
        burst.worker_id(),
        burst.burst_size()
    ))
}

burst::main!(work);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_worker_greets_at_any_size_and_granularity() {
        for (size, granularity) in [(1, 1), (2, 1), (2, 2), (3, 2), (8, 1), (8, 4), (8, 8)] {
            let inputs = (0..size).map(|_| Input {
                name: "World".into(),
            });
            let greetings = burst::testing::run(work, inputs, granularity).unwrap();
            let expected: Vec<String> = (0..size)
                .map(|i| format!("Hello, World, from worker {i} of {size}"))
                .collect();
            assert_eq!(greetings, expected);
        }
    }
}
