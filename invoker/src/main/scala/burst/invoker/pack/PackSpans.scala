package burst.invoker.pack

import burst.node.traces.{EndedSpan, SpanKeys, SpanSink}
import burst.protocol.{Failure, PackAssignment, PackEvent, PackStart, Timestamp, TraceContext, WorkerSpans}
import io.circe.syntax.*
import io.opentelemetry.api.common.{Attributes, AttributesBuilder}

/** Where the spans of packs go: those of invokers, and those that runtimes report to their invoker. `phases`
  * is the maximum number of phases with spans, for each flare on a pack.
  */
final case class PackSpanSinks(invoker: SpanSink, runtime: SpanSink, phases: Int)

object PackSpanSinks:
  val Off: PackSpanSinks = PackSpanSinks(SpanSink.Off, SpanSink.Off, 0)

/** A flare's part of its trace on one pack:
  * {{{
  *  flare
  *  └─ pack            from its request to its end
  *     ├─ start         until its program has its workers ready
  *     └─ run           until the last of them has ended
  *        └─ worker      } as reported by the runtime
  *           └─ (phase)  }
  * }}}
  * Times of the runtime are clamped to those of this process: clocks of other machines differ. Belongs to the
  * pack's actor.
  */
private[pack] final class PackSpans(
    assignment: PackAssignment,
    sinks: PackSpanSinks,
    invoker: String,
    clock: () => Timestamp
):
  import PackSpans.*

  private val flare: Option[TraceContext] = assignment.origin.flatMap(_.trace)
  private val own = flare.filter(context => context.sampled && sinks.invoker.isOn).map(Own(_))

  /** The workers' spans, for the program; if this process reports none, they are the flare's. */
  val workers: Option[WorkerSpans] = flare.map: context =>
    val ids = own.fold(Vector.fill(assignment.size)(context.spanId))(_.workers.map(_.id))
    WorkerSpans(context.traceId, context.sampled, ids)

  /** Records how the pack came up; repeated calls have no effect. */
  def ready(start: PackStart): Unit = own.foreach(_.ready(start))
  def record(events: Vector[PackEvent]): Unit = own.foreach(own => events.foreach(own.record))
  def ended(error: Option[Failure]): Unit = own.foreach(_.ended(error))

  private final class Own(flare: TraceContext):
    private val pack = flare.at(SpanSink.newSpanId())
    private val run = flare.at(SpanSink.newSpanId())
    private val requested = clock()
    private var up = Option.empty[(PackStart, Timestamp)]
    private var phases = 0
    private var leftOut = 0
    private var isOver = false
    val workers: Vector[Worker] = assignment.workers.map(id => Worker(id, SpanSink.newSpanId())).toVector

    def ready(start: PackStart): Unit = if up.isEmpty then up = Some(start -> clock())

    def record(event: PackEvent): Unit = event match
      case PackEvent.WorkerStarted(id, at) => worker(id).foreach(_.began = Some(clamped(at)))
      case PackEvent.Phase(id, name, at) => worker(id).foreach(next(_, Some(name), clamped(at)))
      case PackEvent.WorkerSucceeded(id, _, at) => worker(id).foreach(end(_, clamped(at), None))
      case PackEvent.WorkerFailed(id, error, at) =>
        worker(id).foreach(end(_, clamped(at), Some(EndedSpan.error(error))))
      case _ => ()

    /** Ends the spans, also those of workers that have not reported their end. */
    def ended(error: Option[Failure]): Unit = if !isOver then
      isOver = true
      val at = clock()
      val kind = error.map(EndedSpan.error)
      workers.foreach(end(_, at, kind))
      val began = up.fold(at)(_._2)
      val attributes = named.put(SpanKeys.Invoker, invoker).put(SpanKeys.Workers, assignment.size.toLong)
      up.foreach((start, _) => attributes.put(SpanKeys.Start, start.asJson.asString.getOrElse("")))
      if leftOut > 0 then attributes.put(SpanKeys.LeftOut, leftOut.toLong)
      val known = attributes.build()
      report(pack, flare, "pack", requested, at, known, kind)
      report(
        flare.at(SpanSink.newSpanId()),
        pack,
        "start",
        requested,
        began,
        known,
        if up.isEmpty then kind else None
      )
      if up.nonEmpty then report(run, pack, "run", began, at, known, kind)

    private def worker(id: Int): Option[Worker] =
      workers.lift(id - assignment.firstWorker).filterNot(_ => isOver)

    private def clamped(at: Timestamp): Timestamp = at.max(up.fold(requested)(_._2)).min(clock())

    private def next(worker: Worker, name: Option[String], at: Timestamp): Unit =
      worker.phase.foreach: (before, from) =>
        if phases < sinks.phases then
          phases += 1
          val attributes = of(worker).build()
          val context = flare.at(SpanSink.newSpanId())
          sinks.runtime.ended(EndedSpan(context, Some(worker.id), before, from, at, attributes))
        else leftOut += 1
      worker.phase = name.map(_ -> at)

    private def end(worker: Worker, at: Timestamp, error: Option[String]): Unit =
      worker.began.foreach: began =>
        next(worker, None, at)
        worker.began = None
        val context = flare.at(worker.id)
        sinks.runtime.ended(
          EndedSpan(context, Some(run.spanId), "worker", began, at, of(worker).build(), error)
        )

    private def of(worker: Worker) = named.put(SpanKeys.Worker, worker.worker.toLong)

    private def report(
        context: TraceContext,
        parent: TraceContext,
        name: String,
        from: Timestamp,
        to: Timestamp,
        attributes: Attributes,
        error: Option[String]
    ): Unit =
      sinks.invoker.ended(EndedSpan(context, Some(parent.spanId), name, from, to, attributes, error))

  private def named: AttributesBuilder = Attributes
    .builder()
    .put(SpanKeys.Flare, assignment.flareId.value)
    .put(SpanKeys.Attempt, assignment.attempt.toLong)
    .put(SpanKeys.Pack, assignment.pack.toLong)

private object PackSpans:
  /** A running worker has `began`, and is in a `phase` since the time in it. */
  final class Worker(val worker: Int, val id: String):
    var began: Option[Timestamp] = None
    var phase: Option[(String, Timestamp)] = None
