//! Makes the output of programs and servers harmless to look at: a terminal obeys the control characters in it, and
//! bidirectional ones make text read as something else.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes everything in lines that a terminal would act on, except line ends and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| is_active(c) && !matches!(c, '\n' | '\t'),
        |c, shown| {
            shown.extend(c.escape_default());
        },
    )
}

/// Does the same, and escapes line ends, too.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| is_active(c) && c != '\t',
        |c, shown| shown.extend(c.escape_default()),
    )
}

/// Does the same in JSON, which keeps its meaning: only its strings can contain such characters.
pub fn json(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| is_active(c) && !matches!(c, '\n' | '\t' | '\r'),
        |c, shown| {
            // All of them are below U+10000. Writing to a string does not fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        },
    )
}

fn escaped(
    text: &str,
    hidden: impl Fn(char) -> bool,
    show: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            show(c, &mut shown);
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Whether a terminal acts on a character: a control character, or any with Unicode's property Bidi_Control.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(lines("a\tb\nc é 漢"), "a\tb\nc é 漢");
        assert_eq!(
            lines("\x1b]0;x\x07\r\x7f\u{9b}2J\u{202e}"),
            "\\u{1b}]0;x\\u{7}\\r\\u{7f}\\u{9b}2J\\u{202e}"
        );
        assert_eq!(line("a\nb\tc"), "a\\nb\tc");
    }

    #[test]
    fn escaped_json_keeps_its_meaning() {
        let text = "[\n  \"\u{9b}2J\u{202e}\u{7f}é\"\n]";
        let shown = json(text);
        assert_eq!(shown, "[\n  \"\\u009b2J\\u202e\\u007fé\"\n]");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(text));
    }
}
