//! `--param`, which is written `KEY=VALUE` or `KEY VALUE`.

use std::ffi::{OsStr, OsString};

use clap::Args;

use super::Source;

/// OpenWhisk's verbs, whose `--param` takes two words.
const ENTITIES: [&str; 7] = [
    "action",
    "activation",
    "api",
    "namespace",
    "package",
    "rule",
    "trigger",
];
/// Global flags that can precede the verb and take the next word as their value.
const WITH_VALUE: [&str; 5] = [
    "--apihost",
    "--auth",
    "--admin-auth",
    "--cacert",
    "--output",
];

/// Parameters by key and value, or from a file.
#[derive(Debug, Default, Args)]
pub struct ParamArgs {
    /// A parameter: JSON if the value is JSON, else a string; also --param KEY VALUE; may be repeated
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = param)]
    pub param: Vec<(String, String)>,
    /// JSON object with parameters (- reads standard input); --param overrides it
    #[arg(short = 'P', long, value_name = "FILE")]
    pub param_file: Option<Source>,
}

impl ParamArgs {
    /// Whether the command line gives any parameters.
    pub fn are_given(&self) -> bool {
        !self.param.is_empty() || self.param_file.is_some()
    }
}

/// Why a text is not a parameter.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum ParamError {
    #[error("it has no key: write --param KEY=VALUE")]
    NoKey,
    #[error(
        "it has no value: write --param {0}=VALUE or --param {0} VALUE (only the former if VALUE begins with a dash)"
    )]
    NoValue(String),
}

fn param(text: &str) -> Result<(String, String), ParamError> {
    match text.split_once('=') {
        Some(("", _)) => Err(ParamError::NoKey),
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(ParamError::NoValue(text.to_owned())),
    }
}

/// Rewrites every `--param KEY VALUE` as `--param KEY=VALUE`, so that only one form needs parsing. A key without a
/// value stays, and the parser rejects it by name. For OpenWhisk's verbs, which only know the two-word form, rewrites
/// the other way.
pub fn joined(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if verb(&arguments).is_some_and(|verb| ENTITIES.iter().any(|entity| verb == *entity)) {
        return split(arguments);
    }
    let mut arguments = arguments.into_iter().peekable();
    let mut joined: Vec<OsString> = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            joined.push(argument);
            joined.extend(arguments);
            break;
        }
        let takes_words = is_param(&argument);
        joined.push(argument);
        if !takes_words {
            continue;
        }
        let Some(mut param) = arguments.next_if(|next| is_value(next)) else {
            continue;
        };
        if !param.as_encoded_bytes().contains(&b'=')
            && let Some(value) = arguments.next_if(|next| is_value(next))
        {
            param.push("=");
            param.push(value);
        }
        joined.push(param);
    }
    joined
}

/// Rewrites `--param KEY=VALUE` as `--param KEY VALUE`, unless the next word can be the value of a key named
/// `KEY=VALUE`: OpenWhisk's keys can contain an equals sign.
fn split(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().peekable();
    let mut split = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            split.push(argument);
            split.extend(arguments);
            break;
        }
        if let Some(param) = argument.to_str().and_then(|it| it.strip_prefix("--param="))
            && let Some(pair) = pair(param)
        {
            split.push("--param".into());
            split.extend(pair);
            continue;
        }
        let takes_words = is_param(&argument);
        split.push(argument);
        let Some(word) = arguments.next_if(|_| takes_words) else {
            continue;
        };
        let is_alone = is_value(&word) && arguments.peek().is_none_or(|next| !is_value(next));
        match word.to_str().and_then(pair).filter(|_| is_alone) {
            Some(pair) => split.extend(pair),
            None => {
                split.push(word);
                split.extend(arguments.next());
            }
        }
    }
    split
}

/// Splits a word `KEY=VALUE`, unless its key is empty.
fn pair(word: &str) -> Option<[OsString; 2]> {
    let (key, value) = word.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some([key.into(), value.into()])
}

fn is_param(argument: &OsStr) -> bool {
    argument == "--param" || argument == "-p"
}

/// The first word that is neither a flag of all verbs nor its value.
fn verb(arguments: &[OsString]) -> Option<&OsStr> {
    let mut words = arguments.iter().skip(1).map(OsString::as_os_str);
    while let Some(word) = words.next() {
        if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
        if WITH_VALUE.iter().any(|flag| word == *flag) {
            words.next();
        }
    }
    None
}

/// Whether the word can be a value. A word that begins with a dash is a flag, except a number or the dash alone.
fn is_value(word: &OsStr) -> bool {
    let word = word.as_encoded_bytes();
    word == b"-"
        || !word.starts_with(b"-")
        || serde_json::from_slice::<serde_json::Number>(word).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn words(line: &str) -> Vec<String> {
        joined(line.split(' ').map(OsString::from))
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn separate_keys_and_values_are_joined_by_an_equals_sign() {
        for (line, expected) in [
            (
                "flare f --param k v --result",
                "flare f --param k=v --result",
            ),
            ("flare f -p k -3 -p l=w f", "flare f -p k=-3 -p l=w f"),
            (
                "flare f --param k=v --result",
                "flare f --param k=v --result",
            ),
            ("flare f --param k --result", "flare f --param k --result"),
            (
                "flare f --param=k=--x -p file -",
                "flare f --param=k=--x -p file=-",
            ),
            ("flare --param", "flare --param"),
            ("flare -- --param k v", "flare -- --param k v"),
            (
                "burst -v action invoke a -p k v",
                "burst -v action invoke a -p k v",
            ),
            (
                "burst --auth u:k trigger fire t -p k v",
                "burst --auth u:k trigger fire t -p k v",
            ),
            ("burst flare action -p k v", "burst flare action -p k=v"),
            // OpenWhisk's verbs take two words.
            (
                "burst action invoke a -p k=v",
                "burst action invoke a -p k v",
            ),
            (
                "burst action invoke a -p k=v -p l=w=x --result",
                "burst action invoke a -p k v -p l w=x --result",
            ),
            (
                "burst action invoke --param=k=--v a",
                "burst action invoke --param k --v a",
            ),
            (
                "burst action invoke a -p k=v w -p l -x",
                "burst action invoke a -p k=v w -p l -x",
            ),
            (
                "burst action invoke a -p k=v -3 -p =v",
                "burst action invoke a -p k=v -3 -p =v",
            ),
            (
                "burst trigger fire t -p -r=1 -r",
                "burst trigger fire t -p -r=1 -r",
            ),
        ] {
            assert_eq!(words(line).join(" "), expected);
        }
    }

    #[test]
    fn a_parameter_is_split_at_the_first_equals_sign() {
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(param("k=a=b"), pair("k", "a=b"));
        assert_eq!(param("k="), pair("k", ""));
        assert_eq!(param("k=--x"), pair("k", "--x"));
        assert_eq!(param("=v"), Err(ParamError::NoKey));
        let message = param("k").unwrap_err().to_string();
        assert!(message.contains("--param k=VALUE"), "{message}");
    }
}
