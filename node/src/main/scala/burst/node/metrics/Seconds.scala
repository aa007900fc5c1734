package burst.node.metrics

import burst.node.MonotonicTime
import io.prometheus.metrics.core.datapoints.DistributionDataPoint
import scala.concurrent.duration.SECONDS

/** Bounds of histograms' buckets, and how durations are recorded in them. */
object Seconds:
  /** For what normally takes milliseconds: a statement, a file, a warm pack. */
  val Short: Seq[Double] =
    Seq(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

  /** For what can take as long as a user's work. */
  val Long: Seq[Double] = Seq(0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)

  /** The time that has passed since then. */
  def since(began: MonotonicTime): Double = (MonotonicTime.now() - began).toUnit(SECONDS)

  extension (histogram: DistributionDataPoint)
    /** Records how long `work` takes, however it ends. */
    inline def timing[A](inline work: A): A =
      val began = MonotonicTime.now()
      try work
      finally histogram.observe(since(began))
