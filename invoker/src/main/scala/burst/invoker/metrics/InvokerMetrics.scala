package burst.invoker.metrics

import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.protocol.{FailureKind, PackStart, Traffic}
import io.circe.Encoder
import io.circe.syntax.*
import io.prometheus.metrics.core.datapoints.CounterDataPoint

/** The metrics of a machine's packs. */
final class InvokerMetrics(registry: MetricsRegistry):
  import InvokerMetrics.label

  private val packs = registry.gauge("burst_invoker_packs", "Packs on this machine, by state.", "state")
  private val warm = packs.labelValues("warm")
  private val prewarmed = packs.labelValues("prewarmed")
  private val slots = registry.gauge("burst_invoker_slots", "Slots of this machine.")
  private val cpuLoad = registry.gauge("burst_invoker_cpu_load", "The machine's load, from 0 to 1.")
  private val packFailures = byKind("burst_invoker_pack_failures", "Unsuccessful packs, by kind of failure.")
  private val workerFailures = byKind("burst_invoker_worker_failures", "Failed workers, by kind of failure.")
  private val starts = registry.counter(
    "burst_invoker_starts",
    "Pack starts, by kind and outcome.",
    "start",
    "outcome"
  )
  // Backends' kinds are defined by the runtime, so there are only a few.
  private val messages = registry.counter(
    "burst_invoker_messages",
    "Messages sent between packs of a flare, by kind of backend, as counted by the programs.",
    "backend"
  )
  private val messageBytes = registry.counter(
    "burst_invoker_message_bytes",
    "Bytes of messages sent between packs of a flare, by kind of backend.",
    "backend"
  )
  // The backend that always exists is shown before anybody uses it.
  sent("direct", Traffic(0, 0))
  private val startSeconds = registry.histogram(
    "burst_invoker_start_seconds",
    "Time until a pack is ready, by kind of start.",
    Seconds.Short,
    "start"
  )

  private[metrics] val starting = packs.labelValues("starting")
  private[metrics] val running = packs.labelValues("running")
  private[metrics] val busySlots =
    registry.gauge("burst_invoker_busy_slots", "Slots of packs that start or run.")
  private[metrics] val durations = each(kind => startSeconds.labelValues(label(kind)))
  private[metrics] val succeeded = each(kind => starts.labelValues(label(kind), "ready"))
  private[metrics] val failed = each(kind => starts.labelValues(label(kind), "failed"))
  private[metrics] val aborted = each(kind => starts.labelValues(label(kind), "aborted"))

  /** A pack with this many workers is launched. */
  def begins(start: PackStart, workers: Int): PackWatch = PackWatch(this, start, workers)

  private[metrics] def sent(backend: String, traffic: Traffic): Unit =
    messages.labelValues(backend).inc(traffic.messages.max(0))
    messageBytes.labelValues(backend).inc(traffic.bytes.max(0))

  def packFailed(kind: FailureKind): Unit = packFailures(kind).inc()
  def workerFailed(kind: FailureKind): Unit = workerFailures(kind).inc()

  /** Values that the invoker itself knows. */
  def measured(slots: Int, warm: Int, prewarmed: Int, load: Double): Unit =
    this.slots.set(slots)
    this.warm.set(warm)
    this.prewarmed.set(prewarmed)
    cpuLoad.set(load)

  private def each[A](make: PackStart => A): Map[PackStart, A] =
    PackStart.values.map(kind => kind -> make(kind)).toMap

  private def byKind(name: String, help: String): Map[FailureKind, CounterDataPoint] =
    val counter = registry.counter(name, help, "kind")
    FailureKind.values.map(kind => kind -> counter.labelValues(label(kind))).toMap

object InvokerMetrics:
  /** The name that the API uses. */
  private def label[A: Encoder](value: A): String = value.asJson.asString.getOrElse("")
