//! Workers' outputs on their way to the client: as text, long ones in pieces, so that no later
//! component has to hold a whole output or parse it.

use burst_protocol::{OutputEvent, Timestamp};

use crate::limits;

/// Returns the events that carry a worker's output.
pub(crate) fn events(
    worker: u32,
    output: &str,
    at: Timestamp,
) -> impl Iterator<Item = OutputEvent<'_>> {
    let mut rest = Some(output);
    std::iter::from_fn(move || {
        let (piece, more) = split(rest.take()?);
        Some(match more {
            Some(more) => {
                rest = Some(more);
                OutputEvent::Output {
                    worker,
                    text: piece.into(),
                }
            }
            None => OutputEvent::WorkerSucceeded {
                worker,
                output: piece.into(),
                at,
            },
        })
    })
}

fn split(text: &str) -> (&str, Option<&str>) {
    if text.len() <= limits::OUTPUT_PIECE {
        return (text, None);
    }
    let (piece, more) = text.split_at(text.floor_char_boundary(limits::OUTPUT_PIECE));
    (piece, Some(more))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    const AT: Timestamp = Timestamp::from_micros(7);

    /// Returns the output that a client puts together, and how many events it took.
    fn told(output: &str) -> (String, usize) {
        let mut whole = String::new();
        let mut last = false;
        let mut count = 0;
        for event in events(3, output, AT) {
            assert!(!last, "something follows the end");
            count += 1;
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(
                serde_json::from_str::<OutputEvent<'_>>(&line).unwrap(),
                event
            );
            match event {
                OutputEvent::Output { worker: 3, text } => whole.push_str(&text),
                OutputEvent::WorkerSucceeded {
                    worker: 3,
                    output,
                    at: AT,
                } => {
                    whole.push_str(&output);
                    last = true;
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(last);
        (whole, count)
    }

    #[test]
    fn a_short_output_is_one_event_and_a_long_one_comes_in_pieces() {
        let limit = limits::OUTPUT_PIECE;
        for (length, events) in [(0, 1), (1, 1), (limit, 1), (limit + 1, 2), (3 * limit, 3)] {
            let output = "x".repeat(length);
            assert_eq!(told(&output), (output, events), "{length}");
        }
    }

    #[test]
    fn no_character_is_cut() {
        for shift in 0..4 {
            let output = format!("{}{}", "x".repeat(shift), "🦀".repeat(limits::OUTPUT_PIECE));
            assert_eq!(told(&output).0, output);
        }
    }
}
