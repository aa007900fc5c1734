//! Error messages for an invalid command line.

use clap::Error;
use clap::error::{ContextKind, ContextValue};

/// Flags whose values are secret, or hold a password.
const SECRET: [&str; 3] = ["--secret", "--backend", "--set"];

/// Removes a value that may be secret from the error, because error messages end up in build logs.
pub fn without_secrets(mut error: Error) -> Error {
    let of = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => flag.split_whitespace().next(),
        _ => None,
    };
    // An empty value stays: that it is missing is the error.
    let is_given = matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if !value.is_empty());
    if is_given && of.is_some_and(|flag| SECRET.contains(&flag)) {
        let hidden = ContextValue::String("…".into());
        error.insert(ContextKind::InvalidValue, hidden);
    }
    error
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn errors_do_not_repeat_values_that_may_be_secret() {
        let message = |line: &str| {
            let parsed = Cli::try_parse_from(line.split(' ')).map(|_| ());
            without_secrets(parsed.unwrap_err()).to_string()
        };
        for line in [
            "burst deploy a b --secret T=hunter2",
            "burst deploy a b --secret=T=@ --secret=T=hunter2",
            "burst standalone --backend redis://:hunter2@h",
            "burst standalone --set =hunter2",
        ] {
            let message = message(line);
            assert!(
                !message.contains("hunter2") && message.contains("--"),
                "{message}"
            );
        }
        assert!(message("burst deploy a b --secret T=hunter2").contains("T=@FILE"));
        assert!(message("burst deploy a b --env A").contains("'A'"));
        let message = message("burst deploy a b --secret");
        assert!(
            message.contains("a value is required for '--secret"),
            "{message}"
        );
    }
}
