//! How many flares a program may run at once, as requested by a definition (OpenWhisk's `limits.concurrency`).

use burst_protocol::CONCURRENCY;
use serde_json::Value;

/// A number of flares from one to [`CONCURRENCY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Concurrency(usize);

impl Default for Concurrency {
    fn default() -> Self {
        Self(1)
    }
}

impl Concurrency {
    pub(crate) fn get(self) -> usize {
        self.0
    }
}

/// A value that is not such a number.
#[derive(Debug, thiserror::Error)]
#[error("`concurrency` is a number from 1 to {CONCURRENCY}")]
pub struct InvalidConcurrency;

impl TryFrom<&Value> for Concurrency {
    type Error = InvalidConcurrency;

    /// Accepts a number, or a text with one, as queries have it.
    fn try_from(told: &Value) -> Result<Self, InvalidConcurrency> {
        let number = match told {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        let number = number.and_then(|number| usize::try_from(number).ok());
        let within = number.filter(|number| (1..=CONCURRENCY).contains(number));
        within.map(Self).ok_or(InvalidConcurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_valid_numbers_are_accepted() {
        for (told, expected) in [
            (json!(1), Some(1)),
            (json!("1"), Some(1)),
            (json!(CONCURRENCY), Some(CONCURRENCY)),
            (json!(CONCURRENCY + 1), None),
            (json!(0), None),
            (json!("-1"), None),
            (json!(1.5), None),
            (json!("many"), None),
            (json!(null), None),
        ] {
            let taken = Concurrency::try_from(&told).ok().map(Concurrency::get);
            assert_eq!(taken, expected, "{told}");
        }
    }
}
