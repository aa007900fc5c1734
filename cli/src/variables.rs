//! Environment variables of a program: where secret values come from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read};

use console::Term;

use crate::args::{SecretSource, VariableArgs};
use crate::error::Error;

/// How much of a source is read, in bytes, as it may have no end. The platform decides how long a secret may be.
const LONGEST: u64 = 1 << 20;

/// The variables of a deploy; `None` for those that it leaves unchanged.
#[derive(Default)]
pub struct Variables {
    /// All variables that are not secret.
    pub environment: Option<BTreeMap<String, String>>,
    /// Secrets to set, and those to remove (`None`).
    pub secrets: Option<BTreeMap<String, Option<String>>>,
}

/// Reads the variables that the command line names, and asks the user for secrets as needed.
pub fn variables(args: &VariableArgs) -> Result<Variables, Error> {
    let from_input = |(_, source): &&(String, SecretSource)| *source == SecretSource::Input;
    if args.secret.iter().filter(from_input).count() > 1 {
        return Err(Error::Usage(
            "only one secret can be read from standard input".into(),
        ));
    }
    let mut secrets: BTreeMap<String, Option<String>> = args
        .no_secret
        .iter()
        .map(|name| (name.clone(), None))
        .collect();
    for (name, source) in &args.secret {
        let value = value(name, source)?;
        if secrets.insert(name.clone(), Some(value)).is_some() {
            return Err(Error::Usage(format!("the secret {name} is named twice")));
        }
    }
    let mut environment = BTreeMap::new();
    for (name, value) in &args.env {
        if environment.insert(name.clone(), value.clone()).is_some() {
            return Err(Error::Usage(format!("the variable {name} is named twice")));
        }
    }
    Ok(Variables {
        environment: (args.no_env || !args.env.is_empty()).then_some(environment),
        secrets: (!secrets.is_empty()).then_some(secrets),
    })
}

fn value(name: &str, source: &SecretSource) -> Result<String, Error> {
    match source {
        SecretSource::Terminal => asked(name),
        SecretSource::Input => read(io::stdin().lock())
            .map_err(|cause| Error::Usage(format!("the secret {name} cannot be read: {cause}"))),
        SecretSource::File(path) => File::open(path)
            .and_then(read)
            .map_err(Error::file("read", path)),
    }
}

/// Reads a text, without the end of its last line.
fn read(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(
            "it has more than 1 MiB, which no secret may have",
        ));
    }
    Ok(without_line_end(text))
}

/// Removes the line end that editors and `echo` put at the end of a text.
fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn asked(name: &str) -> Result<String, Error> {
    let terminal = Term::stderr();
    if !(terminal.is_term() && io::stdin().is_terminal()) {
        return Err(Error::Usage(format!(
            "there is no terminal to ask for the secret {name} on: write --secret {name}=- or {name}=@FILE"
        )));
    }
    terminal.write_str(&format!("{name}: "))?;
    Ok(terminal.read_secure_line()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trailing_newline_is_removed() {
        let cut = |text: &str| without_line_end(text.into());
        assert_eq!(cut("a\n"), "a");
        assert_eq!(cut("a\r\n"), "a");
        assert_eq!(cut("a\n\n"), "a\n");
        assert_eq!(cut("a\r"), "a\r");
        assert_eq!(cut(""), "");
    }
}
