//! Numbers, and times and sizes, which are written with their units.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;

const MEBIBYTE: u64 = 1 << 20;

/// A whole number.
pub fn number<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|cause: ParseIntError| match cause.kind() {
            IntErrorKind::PosOverflow => "that is too much".into(),
            _ => "expected a whole number".into(),
        })
}

/// The same, of something that there is.
pub fn positive(text: &str) -> Result<u32, String> {
    match number(text)? {
        0 => Err("at least 1 is needed".into()),
        number => Ok(number),
    }
}

/// A time in milliseconds, from `500ms`, `90s` or `1h30m`.
pub fn milliseconds(text: &str) -> Result<u64, String> {
    // What a bare number means differs from tool to tool, by a factor of a thousand.
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(format!(
            "it has no unit: write {text}s for seconds or {text}ms for milliseconds"
        ));
    }
    let time: Duration = humantime::parse_duration(text)
        .map_err(|_| "expected a time with its unit, such as 500ms, 90s, 15m or 1h30m")?;
    if !time.subsec_nanos().is_multiple_of(1_000_000) {
        return Err("times are whole milliseconds".into());
    }
    u64::try_from(time.as_millis()).map_err(|_| "that is too long".into())
}

/// A size in bytes, from `65536`, `64K`, `64KiB` or `64KB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    // As everywhere that knows both, a letter alone is a power of 1024 and with a B one of 1000.
    let binary = text.ends_with(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']);
    let unit = if binary { "iB" } else { "" };
    format!("{text}{unit}")
        .parse::<ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| "expected a size, such as 65536, 64K or 1MiB".into())
}

/// A size in MiB, from `512`, which is so many of them, `512M`, `512MiB` or `2G`.
pub fn mebibytes(text: &str) -> Result<u32, String> {
    let bytes = match text.trim().parse::<u32>() {
        Ok(bare) => u64::from(bare) * MEBIBYTE,
        Err(_) => bytes(text).map_err(|_| "expected a size, such as 512, 512M or 2G")?,
    };
    match u32::try_from(bytes.div_ceil(MEBIBYTE)) {
        Ok(0) => Err("that is no memory".into()),
        Ok(size) => Ok(size),
        Err(_) => Err("that is too much".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_whole() {
        assert_eq!(number("8"), Ok(8_u32));
        assert_eq!(positive("8"), Ok(8));
        assert_eq!(positive("0").unwrap_err(), "at least 1 is needed");
        for wrong in ["x", "", "1.5", "-1", "8 workers"] {
            let told = number::<u32>(wrong).unwrap_err();
            assert_eq!(told, "expected a whole number", "{wrong}");
        }
        assert_eq!(number::<u16>("65536").unwrap_err(), "that is too much");
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(milliseconds("500ms"), Ok(500));
        assert_eq!(milliseconds("90s"), Ok(90_000));
        assert_eq!(milliseconds("1h30m"), Ok(5_400_000));
        // As this program shows it.
        assert_eq!(milliseconds("1 h 30 min"), Ok(5_400_000));
        assert_eq!(milliseconds("0s"), Ok(0));
        assert!(milliseconds("5").unwrap_err().contains("write 5s for"));
        assert!(milliseconds("1.5").unwrap_err().contains("no unit"));
        assert!(milliseconds("5us").unwrap_err().contains("whole"));
        for wrong in ["soon", "", "-5s", "5 parsecs", "nan"] {
            assert!(milliseconds(wrong).unwrap_err().contains("90s"), "{wrong}");
        }
        assert!(milliseconds("99999999999999999999s").is_err());
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (text, size) in [
            ("65536", 65_536),
            ("64K", 65_536),
            ("64k", 65_536),
            ("1MiB", 1 << 20),
            ("1MB", 1_000_000),
            ("1.5G", 3 << 29),
        ] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for wrong in ["big", "", "-1", "1X", "K"] {
            assert!(bytes(wrong).unwrap_err().contains("64K"), "{wrong}");
        }
    }

    #[test]
    fn memory_is_mebibytes_or_has_a_unit() {
        for (text, size) in [("512", 512), ("512M", 512), ("512MiB", 512), ("2G", 2048)] {
            assert_eq!(mebibytes(text), Ok(size), "{text}");
        }
        // Never less than was asked for.
        assert_eq!(mebibytes("512MB"), Ok(489));
        assert!(mebibytes("0").is_err());
        assert!(mebibytes("much").unwrap_err().contains("512M"));
        assert!(mebibytes("99999999999G").is_err());
    }
}
