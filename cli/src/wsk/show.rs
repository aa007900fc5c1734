//! Printing as `wsk` prints: a line that begins with `ok:`, then JSON.

use std::collections::BTreeMap;

use burst_client::KeyValue;
use serde_json::value::RawValue;

use super::client_context::read;
use super::fields;
use crate::error::Error;
use crate::output::{self, Printer};
use crate::visible;

/// Prints that something was done.
pub fn ok(text: &str) -> Result<(), Error> {
    output::line(&format!("ok: {text}"))
}

/// Prints JSON, one field per line.
pub fn json(text: &str) -> Result<(), Error> {
    let mut printer = Printer::new();
    printer.json(&indented(text))?;
    printer.people("\n")?;
    printer.end()
}

/// Does the same on standard error.
pub fn json_beside(text: &str) -> Result<(), Error> {
    let mut printer = Printer::beside();
    printer.people(&visible::json(&indented(text)))?;
    printer.people("\n")?;
    printer.end()
}

/// Prints that something was found, and the thing itself or one field of it.
pub fn entity(what: &str, text: &str, field: Option<&str>) -> Result<(), Error> {
    let Some(field) = field else {
        ok(&format!("got {what}"))?;
        return json(text);
    };
    let fields: BTreeMap<String, Box<RawValue>> = read(text, &format!("get {what}"))?;
    let Some(value) = fields.get(field) else {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        return Err(Error::Usage(format!(
            "{what} has no field \"{field}\": there are {}",
            names.join(", ")
        )));
    };
    ok(&format!("got {what}, displaying field {field}"))?;
    json(value.get())
}

/// Prints a name with the description in its annotations, and with its parameters: those that annotations describe and,
/// starred, those that have a value (`bound`). Two stars mark values that no caller can change.
pub fn summary(
    kind: &str,
    name: &str,
    annotations: &[KeyValue],
    bound: &[KeyValue],
) -> Result<(), Error> {
    let described = fields::find(annotations, "parameters");
    let described: Vec<Described> = described
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .unwrap_or_default();
    let star = if fields::is_true(annotations, "final") {
        "**"
    } else {
        "*"
    };
    let mut parameters: BTreeMap<&str, &str> =
        described.iter().map(|it| (it.name.as_str(), "")).collect();
    parameters.extend(bound.iter().map(|field| (field.key.as_str(), star)));
    let names: Vec<&str> = parameters.keys().copied().collect();
    let about = fields::text(annotations, "description").filter(|about| !about.is_empty());
    let about = about.or_else(|| based_on(&names));
    let about = about.map_or_else(String::new, |about| format!(": {about}"));
    let starred: Vec<String> = parameters
        .iter()
        .map(|(name, star)| format!("{star}{name}"))
        .collect();
    let starred = if starred.is_empty() {
        "none defined".into()
    } else {
        starred.join(", ")
    };
    output::line(&format!("{kind} {name}{about}\n   (parameters: {starred})"))
}

/// Describes something that only has parameters.
fn based_on(names: &[&str]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("Returns a result based on parameter {last}"),
        _ => format!(
            "Returns a result based on parameters {} and {last}",
            others.join(", ")
        ),
    })
}

/// A parameter in an annotation, which users can fill with anything.
#[derive(serde::Deserialize)]
struct Described {
    name: String,
}

/// The platform's JSON is no deeper. What another server sends may be, and its indents would fill the memory.
const DEEPEST: usize = 256;

/// Adds line ends and indents of four to JSON, without parsing it: no digit of a number is lost, and fields stay in
/// order.
pub fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    let mut chars = json.trim().chars().peekable();
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', depth.min(DEEPEST) * 4));
    };
    while let Some(c) = chars.next() {
        if in_string {
            text.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            c if c.is_ascii_whitespace() => {}
            '{' | '[' => {
                text.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = chars.next_if(|&next| next == '}' || next == ']') {
                    text.push(end);
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            other => {
                in_string = other == '"';
                text.push(other);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indenting_changes_only_the_white_space_of_json() {
        let json = r#"{"a":{ },"b":[1.50,[ ],{"c":"x, \"y\": {[\\"}],"d":12345678901234567890123}"#;
        let shown = "{\n    \"a\": {},\n    \"b\": [\n        1.50,\n        [],\n        {\n            \
                     \"c\": \"x, \\\"y\\\": {[\\\\\"\n        }\n    ],\n    \"d\": 12345678901234567890123\n}";
        assert_eq!(indented(json), shown);
        assert_eq!(indented(&indented(json)), shown);
        assert_eq!(indented("\"text\"\n"), "\"text\"");
    }
}
