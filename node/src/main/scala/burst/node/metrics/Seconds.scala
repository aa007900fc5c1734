package burst.node.metrics

import io.prometheus.metrics.core.datapoints.DistributionDataPoint

/** Bounds of histograms' buckets, and how what took its time is put into them. */
object Seconds:
  /** What takes milliseconds when all is well: a statement, a file, a pack that is warm. */
  val Short: Seq[Double] =
    Seq(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

  /** What may take as long as somebody's work. */
  val Long: Seq[Double] = Seq(0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)

  /** What has gone by since then, by `System.nanoTime`. */
  def since(began: Long): Double = (System.nanoTime() - began) / 1e9

  extension (histogram: DistributionDataPoint)
    /** How long `work` takes, however it ends. */
    inline def timing[A](inline work: A): A =
      val began = System.nanoTime()
      try work
      finally histogram.observe(since(began))
