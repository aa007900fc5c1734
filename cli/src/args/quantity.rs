//! Parsers for numbers, and for times and sizes with units.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;

const MEBIBYTE: u64 = 1 << 20;

/// Why a text is not a number, time or size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("expected a whole number")]
    NotANumber,
    #[error("that is too much")]
    TooMuch,
    #[error("at least 1 is needed")]
    NotPositive,
    #[error("it has no unit: write {0}s for seconds or {0}ms for milliseconds")]
    NoUnit(String),
    #[error("expected a time with its unit, such as 500ms, 90s, 15m or 1h30m")]
    NotATime,
    #[error("times are whole milliseconds")]
    TooFine,
    #[error("that is too long")]
    TooLong,
    #[error("expected a size, such as 65536, 64K or 1MiB")]
    NotASize,
    #[error("expected a size, such as 512, 512M or 2G")]
    NotMemory,
    #[error("memory must be more than 0")]
    NoMemory,
}

/// Parses a whole number.
pub fn number<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, QuantityError> {
    text.parse()
        .map_err(|cause: ParseIntError| match cause.kind() {
            IntErrorKind::PosOverflow => QuantityError::TooMuch,
            _ => QuantityError::NotANumber,
        })
}

/// Parses a whole number of at least 1.
pub fn positive(text: &str) -> Result<u32, QuantityError> {
    match number(text)? {
        0 => Err(QuantityError::NotPositive),
        number => Ok(number),
    }
}

/// Parses a time of whole milliseconds, such as `500ms`, `90s` or `1h30m`.
pub fn duration(text: &str) -> Result<Duration, QuantityError> {
    // What a bare number means differs from tool to tool, by a factor of a thousand.
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return Err(QuantityError::NoUnit(text.to_owned()));
    }
    let time = humantime::parse_duration(text).map_err(|_| QuantityError::NotATime)?;
    if !time.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(QuantityError::TooFine);
    }
    // The API has milliseconds in 64 bits.
    match u64::try_from(time.as_millis()) {
        Ok(_) => Ok(time),
        Err(_) => Err(QuantityError::TooLong),
    }
}

/// Parses a size in bytes, such as `65536`, `64K`, `64KiB` or `64KB`.
pub fn bytes(text: &str) -> Result<u64, QuantityError> {
    let text = text.trim();
    // By convention, a letter alone is a power of 1024, and a letter with a B a power of 1000.
    let binary = text.ends_with(['K', 'M', 'G', 'T', 'k', 'm', 'g', 't']);
    let unit = if binary { "iB" } else { "" };
    format!("{text}{unit}")
        .parse::<ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| QuantityError::NotASize)
}

/// Parses a size in MiB, rounded up, such as `512M`, `512MiB` or `2G`; a bare `512` is in MiB.
pub fn mebibytes(text: &str) -> Result<u32, QuantityError> {
    let bytes = match text.trim().parse::<u32>() {
        Ok(bare) => u64::from(bare) * MEBIBYTE,
        Err(_) => bytes(text).map_err(|_| QuantityError::NotMemory)?,
    };
    match u32::try_from(bytes.div_ceil(MEBIBYTE)) {
        Ok(0) => Err(QuantityError::NoMemory),
        Ok(size) => Ok(size),
        Err(_) => Err(QuantityError::TooMuch),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_must_be_integers() {
        assert_eq!(number("8"), Ok(8_u32));
        assert_eq!(positive("8"), Ok(8));
        assert_eq!(positive("0"), Err(QuantityError::NotPositive));
        for wrong in ["x", "", "1.5", "-1", "8 workers"] {
            let parsed = number::<u32>(wrong);
            assert_eq!(parsed, Err(QuantityError::NotANumber), "{wrong}");
        }
        assert_eq!(number::<u16>("65536"), Err(QuantityError::TooMuch));
    }

    #[test]
    fn durations_need_a_unit() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("500ms"), Ok(0.5));
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1h30m"), Ok(5_400.0));
        // The form in which this program prints times.
        assert_eq!(seconds("1 h 30 min"), Ok(5_400.0));
        assert_eq!(seconds("0s"), Ok(0.0));
        let message = duration("5").unwrap_err().to_string();
        assert!(message.contains("write 5s for"), "{message}");
        assert_eq!(duration("1.5"), Err(QuantityError::NoUnit("1.5".into())));
        assert_eq!(duration("5us"), Err(QuantityError::TooFine));
        for wrong in ["soon", "", "-5s", "5 parsecs", "nan"] {
            assert_eq!(duration(wrong), Err(QuantityError::NotATime), "{wrong}");
        }
        assert_eq!(duration("99999999999999999s"), Err(QuantityError::TooLong));
        assert!(duration("99999999999999999999s").is_err());
    }

    #[test]
    fn sizes_without_a_unit_are_bytes() {
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
            assert_eq!(bytes(wrong), Err(QuantityError::NotASize), "{wrong}");
        }
    }

    #[test]
    fn memory_without_a_unit_is_mebibytes() {
        for (text, size) in [("512", 512), ("512M", 512), ("512MiB", 512), ("2G", 2048)] {
            assert_eq!(mebibytes(text), Ok(size), "{text}");
        }
        // Never less than requested.
        assert_eq!(mebibytes("512MB"), Ok(489));
        assert_eq!(mebibytes("0"), Err(QuantityError::NoMemory));
        assert_eq!(mebibytes("much"), Err(QuantityError::NotMemory));
        assert!(mebibytes("99999999999G").is_err());
    }
}
