package burst.controller.metrics

import burst.controller.flare.FlareState
import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.protocol.{DefinitionRef, Failure, FailureKind, PackStart}
import io.circe.Encoder
import io.circe.syntax.*
import io.prometheus.metrics.core.datapoints.{CounterDataPoint, DistributionDataPoint}
import scala.concurrent.duration.{Duration, FiniteDuration, SECONDS}

/** Where the time of flares goes, and how they end; by namespace and definition if the settings say so, up to
  * the limits there.
  */
final class FlareMetrics(registry: MetricsRegistry, settings: MetricsSettings):
  import FlareMetrics.*

  private val names = if settings.byNamespace then Seq("namespace", "definition") else Seq.empty
  private val queue =
    registry.histogram("burst_flare_queue_seconds", "Time that flares wait for slots.", Seconds.Long, names*)
  private val placement = registry.histogram(
    "burst_flare_placement_seconds",
    "Time from reserved slots to the request for packs: storing the record, reading inputs.",
    Seconds.Short,
    names*
  )
  private val start = registry.histogram(
    "burst_flare_start_seconds",
    "Time until all packs are ready, by the slowest kind of start.",
    Seconds.Short,
    names :+ "start"*
  )
  private val run =
    registry.histogram(
      "burst_flare_run_seconds",
      "Time from all packs ready to the flare's end.",
      Seconds.Long,
      names*
    )
  private val results =
    registry.counter("burst_flare_results", "Ended flares, by result.", names :+ "result"*)
  private val failures =
    val counter = registry.counter("burst_flare_failures", "Unsuccessful flares, by kind of failure.", "kind")
    FailureKind.values.map(kind => kind -> counter.labelValues(label(kind))).toMap

  private val all = Option.when(!settings.byNamespace)(figures(Seq.empty))
  private val namespaces = BoundedLabels(
    settings.namespaces,
    namespace =>
      val definitions = if namespace == BoundedLabels.Other then 0 else settings.definitions
      BoundedLabels(definitions, definition => figures(Seq(namespace, definition)))
  )

  /** The metrics for flares of a definition. Callers that count for a flare should keep the reference. */
  def of(definition: DefinitionRef): FlareFigures =
    all.getOrElse(namespaces(definition.namespace)(definition.name))

  private def figures(names: Seq[String]) = FlareFigures(
    queue.labelValues(names*),
    placement.labelValues(names*),
    PackStart.values.map(kind => kind -> start.labelValues(names :+ label(kind)*)).toMap,
    run.labelValues(names*),
    FlareState.values.filter(_.isFinal).map(state =>
      state -> results.labelValues(names :+ label(state)*)
    ).toMap,
    failures
  )

object FlareMetrics:
  /** A value's name in the API. */
  private def label[A: Encoder](value: A): String = value.asJson.asString.getOrElse("")

/** The metrics of a definition's flares. */
final class FlareFigures private[metrics] (
    queue: DistributionDataPoint,
    placement: DistributionDataPoint,
    starts: Map[PackStart, DistributionDataPoint],
    run: DistributionDataPoint,
    results: Map[FlareState, CounterDataPoint],
    failures: Map[FailureKind, CounterDataPoint]
):
  def waited(time: FiniteDuration): Unit = queue.observe(seconds(time))
  def placed(time: FiniteDuration): Unit = placement.observe(seconds(time))
  def started(kind: PackStart, time: FiniteDuration): Unit = starts(kind).observe(seconds(time))

  /** Counts how a flare ended, and how long it ran if it did. */
  def ended(state: FlareState, error: Option[Failure], ran: Option[FiniteDuration]): Unit =
    ran.foreach(time => run.observe(seconds(time)))
    results.get(state).foreach(_.inc())
    error.foreach(failure => failures(failure.kind).inc())

  /** The clock may have been set in between. */
  private def seconds(time: FiniteDuration): Double = time.max(Duration.Zero).toUnit(SECONDS)
