//! JSON written by hand for code that must not allocate.

/// Appends `number` in decimal, without allocating while there is capacity.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends `text` as the inside of a JSON string; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for chunk in text.utf8_chunks() {
        for &byte in chunk.valid().as_bytes() {
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                b'\t' => out.extend_from_slice(b"\\t"),
                0..0x20 => {
                    out.extend_from_slice(b"\\u00");
                    out.push(HEX[usize::from(byte >> 4)]);
                    out.push(HEX[usize::from(byte & 15)]);
                }
                _ => out.push(byte),
            }
        }
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 4711, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn every_character_survives() {
        let text: String = (0..0x800).filter_map(char::from_u32).collect();
        let mut out = vec![b'"'];
        push_escaped(&mut out, text.as_bytes());
        out.push(b'"');
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }
}
