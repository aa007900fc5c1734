//! Times and durations as people write them: local, and with units that fit.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Formats a time as local time, to the millisecond.
pub fn exact(time: SystemTime) -> String {
    local(time, "%Y-%m-%d %H:%M:%S%.3f")
}

/// The same to the second.
pub fn second(time: SystemTime) -> String {
    local(time, "%Y-%m-%d %H:%M:%S")
}

/// The same to the second, with the zone's offset from UTC and its name.
pub fn zoned(time: SystemTime) -> String {
    local(time, "%Y-%m-%d %H:%M:%S %z %Z")
}

/// The same to the minute, which is enough in a list.
pub fn minute(time: SystemTime) -> String {
    local(time, "%Y-%m-%d %H:%M")
}

/// The same to the second and without the day, to show beside the time left until then.
pub fn of_day(time: SystemTime) -> String {
    local(time, "%H:%M:%S")
}

fn local(time: SystemTime, format: &str) -> String {
    // A time beyond the year 9999 is nonsense.
    Timestamp::try_from(time).map_or_else(
        |_| "?".into(),
        |time| {
            let local = time.to_zoned(TimeZone::system());
            local.strftime(format).to_string()
        },
    )
}

/// Returns the duration from one time to another; none if that is earlier.
pub fn between(start: SystemTime, end: SystemTime) -> Duration {
    end.duration_since(start).unwrap_or_default()
}

/// Returns a duration in milliseconds, as the API has it.
pub fn in_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Formats a duration in milliseconds, for people.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_micros() as f64 / 1000.0)
}

/// Formats a duration in units that fit it, for people.
pub fn duration(time: Duration) -> String {
    // Nothing takes zero time.
    if time < Duration::from_micros(50) {
        return "< 0.1 ms".into();
    }
    // A duration that would be rounded to a whole one of the next unit is shown in that unit.
    if time < Duration::from_micros(999_950) {
        return format!("{} ms", milliseconds(time));
    }
    if time < Duration::from_millis(59_950) {
        return format!("{:.1} s", time.as_secs_f64());
    }
    let seconds = time.saturating_add(Duration::from_millis(500)).as_secs();
    let (large, unit, small, small_unit) = match seconds {
        HOUR.. if seconds >= DAY => (seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        HOUR.. => (seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => (seconds / MINUTE, "min", seconds % MINUTE, "s"),
    };
    if small == 0 {
        format!("{large} {unit}")
    } else {
        format!("{large} {unit} {small} {small_unit}")
    }
}

/// Formats the time left until `at`, to the second.
pub fn until(now: SystemTime, at: SystemTime) -> String {
    match between(now, at).as_micros().div_ceil(1_000_000) as u64 {
        0 => "any moment".into(),
        seconds => format!("in about {}", setting(Duration::from_secs(seconds))),
    }
}

/// Formats a duration that somebody has set.
pub fn setting(time: Duration) -> String {
    if time.is_zero() {
        return "0 ms".into();
    }
    duration(time).replace(".0 ", " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
    }

    #[test]
    fn durations_have_suitable_units() {
        for (micros, shown) in [
            (0, "< 0.1 ms"),
            (49, "< 0.1 ms"),
            (50, "0.1 ms"),
            (1_500, "1.5 ms"),
            (999_949, "999.9 ms"),
            (999_960, "1.0 s"),
            (4_002_000, "4.0 s"),
            (12_340_000, "12.3 s"),
            (59_949_000, "59.9 s"),
            (59_960_000, "1 min"),
            (125_400_000, "2 min 5 s"),
            (3_599_900_000, "1 h"),
            (5_400_000_000, "1 h 30 min"),
            (90_000_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(between(at(5), at(5 + micros))), shown);
        }
        assert_eq!(between(at(5), at(0)), Duration::ZERO);
        for (millis, shown) in [
            (0, "0 ms"),
            (1, "1 ms"),
            (90_000, "1 min 30 s"),
            (1_500, "1.5 s"),
            (10_000, "10 s"),
        ] {
            assert_eq!(setting(Duration::from_millis(millis)), shown);
        }
        assert!(setting(Duration::MAX).ends_with('h'));
    }

    #[test]
    fn future_times_are_relative_to_now() {
        for (micros, expected) in [
            (0, "any moment"),
            (1, "in about 1 s"),
            (5_400_000, "in about 6 s"),
            (90_000_000, "in about 1 min 30 s"),
        ] {
            assert_eq!(until(at(7), at(7 + micros)), expected);
        }
        assert_eq!(until(at(7), at(0)), "any moment");
    }

    #[test]
    fn times_out_of_range_are_shown_as_unknown() {
        assert_eq!(exact(at(u64::MAX)), "?");
        assert_eq!(minute(at(i64::MAX.unsigned_abs())), "?");
    }
}
