//! `--env` and `--secret`: environment variables of a program.

use std::path::PathBuf;

use clap::Args;

/// Environment variables of a program, of which some are secret.
#[derive(Debug, Args)]
#[command(next_help_heading = "Environment variables")]
pub struct VariableArgs {
    /// A variable; the given ones replace all that are not secret; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Remove all variables that are not secret
    #[arg(long, conflicts_with = "env")]
    pub no_env: bool,
    /// A secret variable: NAME asks for its value, NAME=- reads it from standard input, NAME=@FILE from a file
    #[arg(long, value_name = "NAME[=-|=@FILE]", value_parser = secret)]
    pub secret: Vec<(String, SecretSource)>,
    /// Remove a secret variable; may be repeated
    #[arg(long, value_name = "NAME")]
    pub no_secret: Vec<String>,
}

/// Where the value of a secret comes from: never from the command line, which other users can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A prompt on the terminal.
    Terminal,
    /// Standard input.
    Input,
    /// A file.
    File(PathBuf),
}

/// Why a text does not name a variable. Errors of `--secret` never repeat its value.
#[derive(Debug, thiserror::Error)]
enum VariableError {
    #[error("it has no name: write --env NAME=VALUE")]
    NoName,
    #[error("it has no value: write --env {0}=VALUE")]
    NoValue(String),
    #[error("it has no name: write --secret NAME, NAME=- or NAME=@FILE")]
    NoSecretName,
    #[error(
        "other users of this machine see a command's arguments: write --secret {0} to be asked for the value, \
         --secret {0}=- or --secret {0}=@FILE"
    )]
    ShownSecret(String),
}

fn variable(text: &str) -> Result<(String, String), VariableError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) => Err(VariableError::NoName),
        None => Err(VariableError::NoValue(text.to_owned())),
    }
}

fn secret(text: &str) -> Result<(String, SecretSource), VariableError> {
    let (name, source) = match text.split_once('=') {
        None => (text, SecretSource::Terminal),
        Some((name, "-")) => (name, SecretSource::Input),
        Some((name, source)) => match source.strip_prefix('@') {
            Some(file) if !file.is_empty() => (name, SecretSource::File(file.into())),
            _ => return Err(VariableError::ShownSecret(name.to_owned())),
        },
    };
    if name.is_empty() {
        return Err(VariableError::NoSecretName);
    }
    Ok((name.to_owned(), source))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_secret_takes_a_source_but_no_value() {
        let source = |text| secret(text).unwrap().1;
        assert_eq!(source("T"), SecretSource::Terminal);
        assert_eq!(source("T=-"), SecretSource::Input);
        assert_eq!(source("T=@a=b"), SecretSource::File("a=b".into()));
        for wrong in ["T=hunter2", "T=", "T=@", "=-", ""] {
            let refusal = secret(wrong).unwrap_err().to_string();
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
    }
}
