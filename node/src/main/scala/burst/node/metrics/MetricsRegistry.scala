package burst.node.metrics

import io.prometheus.metrics.core.metrics.{Counter, CounterWithCallback, Gauge, GaugeWithCallback, Histogram}
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter
import io.prometheus.metrics.model.registry.PrometheusRegistry
import java.io.ByteArrayOutputStream

/** The metrics of a process, in Prometheus' format. Each name can be used once.
  *
  * Code that counts often keeps the result of `labelValues` for its labels: then counting is an addition,
  * without a lock.
  */
final class MetricsRegistry:
  private val registry = PrometheusRegistry()
  private val writer = PrometheusTextFormatWriter.create()

  /** Shown as `NAME_total`. */
  def counter(name: String, help: String, labels: String*): Counter =
    Counter.builder().name(name).help(help).labelNames(labels*).withoutExemplars().register(registry)

  def gauge(name: String, help: String, labels: String*): Gauge =
    Gauge.builder().name(name).help(help).labelNames(labels*).withoutExemplars().register(registry)

  /** A gauge that is read on each scrape: `read` reports each value with its labels. */
  def readGauge(name: String, help: String, labels: String*)(
      read: GaugeWithCallback.Callback => Unit
  ): Unit =
    val gauge = GaugeWithCallback.builder().name(name).help(help).labelNames(labels*)
    val _ = gauge.callback(read(_)).register(registry)

  /** The same for values that only grow, shown as `NAME_total`. */
  def readCounter(name: String, help: String, labels: String*)(
      read: CounterWithCallback.Callback => Unit
  ): Unit =
    val counter = CounterWithCallback.builder().name(name).help(help).labelNames(labels*)
    val _ = counter.callback(read(_)).register(registry)

  /** Counts values in buckets up to each of the bounds. */
  def histogram(name: String, help: String, bounds: Seq[Double], labels: String*): Histogram =
    Histogram
      .builder()
      .name(name)
      .help(help)
      .labelNames(labels*)
      // The other kind is for a protocol that we do not speak, and costs time with each count.
      .classicOnly()
      .classicUpperBounds(bounds*)
      .withoutExemplars()
      .register(registry)

  /** The text of all metrics, with their current values. */
  def text(): Array[Byte] =
    val out = ByteArrayOutputStream()
    writer.write(out, registry.scrape())
    out.toByteArray

object MetricsRegistry:
  /** The content type of `text`. */
  val ContentType: String = PrometheusTextFormatWriter.CONTENT_TYPE

  /** A registry with the metrics of the JVM and of the process. */
  def ofProcess(): MetricsRegistry =
    val made = MetricsRegistry()
    JvmMetrics.register(made)
    made
