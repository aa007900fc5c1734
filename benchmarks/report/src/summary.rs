//! Summarises a series of measurements in three figures.

/// Minimum, median and maximum; the median is the one to quote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The smallest.
    pub min: f64,
    /// The middle value, or the mean of the two middle ones.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summarises a series of at least one measurement.
    pub fn of(mut series: Vec<f64>) -> Self {
        assert!(!series.is_empty(), "nothing was measured");
        series.sort_by(f64::total_cmp);
        let middle = series.len() / 2;
        let median = if series.len().is_multiple_of(2) {
            f64::midpoint(series[middle - 1], series[middle])
        } else {
            series[middle]
        };
        Self {
            min: series[0],
            median,
            max: series[series.len() - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_minimum_median_and_maximum() {
        assert_eq!(
            Summary::of(vec![3.0, 1.0, 2.0]),
            Summary {
                min: 1.0,
                median: 2.0,
                max: 3.0
            }
        );
        assert_eq!(Summary::of(vec![4.0, 1.0]).median, 2.5);
    }
}
