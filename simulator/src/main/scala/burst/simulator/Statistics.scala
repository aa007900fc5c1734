package burst.simulator

/** Statistics of a sample. */
object Statistics:
  /** The smallest value that at least this part of the sample does not exceed. */
  def quantile(values: Vector[Double], part: Double): Double =
    val sorted = values.sorted
    if sorted.isEmpty then 0 else sorted(((sorted.length * part).ceil.toInt - 1).max(0))

  def median(values: Vector[Double]): Double = quantile(values, 0.5)

  /** Median distance from the median. */
  def medianDeviation(values: Vector[Double]): Double =
    val middle = median(values)
    median(values.map(value => (value - middle).abs))
