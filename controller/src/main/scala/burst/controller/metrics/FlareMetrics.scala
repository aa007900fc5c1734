package burst.controller.metrics

import burst.controller.flare.FlareState
import burst.node.metrics.{MetricsRegistry, Seconds}
import burst.protocol.{DefinitionRef, Failure, FailureKind, PackStart}
import io.circe.Encoder
import io.circe.syntax.*
import io.prometheus.metrics.core.datapoints.{CounterDataPoint, DistributionDataPoint}
import scala.concurrent.duration.{Duration, FiniteDuration, SECONDS}

/** Where the time of flares goes, and how they end; told by namespace and definition where the settings want
  * it, of so many at most.
  */
final class FlareMetrics(registry: MetricsRegistry, settings: MetricsSettings):
  import FlareMetrics.*

  private val names = if settings.byNamespace then Seq("namespace", "definition") else Seq.empty
  private val queue =
    registry.histogram("burst_flare_queue_seconds", "Waiting for slots.", Seconds.Long, names*)
  private val placement = registry.histogram(
    "burst_flare_placement_seconds",
    "From slots to asking for packs: the record is stored, inputs are read.",
    Seconds.Short,
    names*
  )
  private val start = registry.histogram(
    "burst_flare_start_seconds",
    "Until all packs are ready, by how the slowest kind of them came up.",
    Seconds.Short,
    names :+ "start"*
  )
  private val run =
    registry.histogram("burst_flare_run_seconds", "From all packs ready to the end.", Seconds.Long, names*)
  private val results =
    registry.counter("burst_flare_results", "Flares that have ended, by how.", names :+ "result"*)
  private val failures =
    val counter = registry.counter("burst_flare_failures", "Flares that have not ended well, by why.", "kind")
    FailureKind.values.map(kind => kind -> counter.labelValues(label(kind))).toMap

  private val all = Option.when(!settings.byNamespace)(figures(Seq.empty))
  private val namespaces = BoundedLabels(
    settings.namespaces,
    namespace =>
      val definitions = if namespace == BoundedLabels.Other then 0 else settings.definitions
      BoundedLabels(definitions, definition => figures(Seq(namespace, definition)))
  )

  /** To be kept by whatever counts for a flare. */
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
  /** As the API has it. */
  private def label[A: Encoder](value: A): String = value.asJson.asString.getOrElse("")

/** What is counted of the flares of a definition. */
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

  /** How it ended, and how long it ran if it did. */
  def ended(state: FlareState, error: Option[Failure], ran: Option[FiniteDuration]): Unit =
    ran.foreach(time => run.observe(seconds(time)))
    results.get(state).foreach(_.inc())
    error.foreach(failure => failures(failure.kind).inc())

  /** Somebody may have set a clock meanwhile. */
  private def seconds(time: FiniteDuration): Double = time.max(Duration.Zero).toUnit(SECONDS)
