package burst.controller.metrics

import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.node.metrics.Seconds.timing
import io.prometheus.metrics.core.datapoints.{CounterDataPoint, DistributionDataPoint}
import java.nio.file.NoSuchFileException
import scala.util.control.NonFatal

/** Metrics of the store of packages and of large parts of flares: a directory or a bucket. */
final class BlobMetrics(registry: MetricsRegistry):
  import BlobMetrics.Operation

  private val seconds = registry.histogram(
    "burst_blob_seconds",
    "Calls to the directory or bucket that holds packages and large parts of flares.",
    Seconds.Short,
    "operation"
  )
  private val failures =
    registry.counter("burst_blob_failures", "Failed calls to the blob store.", "operation")

  val put: Operation = operation("put")
  val read: Operation = operation("read")
  val delete: Operation = operation("delete")
  val list: Operation = operation("list")

  private def operation(name: String) = Operation(seconds.labelValues(name), failures.labelValues(name))

object BlobMetrics:
  final class Operation private[BlobMetrics] (seconds: DistributionDataPoint, failures: CounterDataPoint):
    def apply[A](work: => A): A =
      try seconds.timing(work)
      catch
        // It only reports that something is missing.
        case absent: NoSuchFileException => throw absent
        case NonFatal(failure) =>
          failures.inc()
          throw failure
