package burst.controller.flare

import burst.protocol.{PackId, Timestamp}
import io.circe.Encoder

/** A stretch of a worker's time; `end` is none while it lasts. */
final case class Phase(name: String, start: Timestamp, end: Option[Timestamp]) derives Encoder.AsObject

final case class WorkerTimeline(worker: Int, pack: Option[PackId], phases: Vector[Phase])
    derives Encoder.AsObject

/** Where each worker's time went (docs/architecture/api.md). Pure.
  *
  * {{{
  * created      placed   started      mark "read"      mark "sort"      ended
  *    | invocation | start  |    work     |      read      |     sort     |
  * }}}
  */
object Timeline:
  def of(flare: Flare, marks: Vector[PhaseMark]): Vector[WorkerTimeline] =
    val byWorker = marks.groupBy(_.worker)
    flare.workers.map: worker =>
      WorkerTimeline(
        worker.worker,
        worker.pack,
        phases(flare, worker, byWorker.getOrElse(worker.worker, Vector.empty))
      )

  private def phases(flare: Flare, worker: WorkerRecord, marks: Vector[PhaseMark]): Vector[Phase] =
    // If a worker never got this far, its last phase lasts until the flare's end.
    val over = worker.ended.orElse(flare.ended)
    val invocation = begins("invocation", flare.created)
    val start = flare.placed.map(begins("start", _))
    val own = worker.started.toVector.flatMap: started =>
      // Marks have times from the clock of the worker's machine, which may be behind the others'.
      val sorted = marks.sortBy(_.at).map(mark => begins(mark.name, mark.at.max(started)))
      if sorted.headOption.exists(_.start == started) then sorted
      else begins("work", started) +: sorted
    close(Vector(invocation) ++ start ++ own, over)

  private def begins(name: String, at: Timestamp) = Phase(name, at, None)

  /** Lets each phase last until the next one; none begins before the one ahead of it. */
  private def close(phases: Vector[Phase], over: Option[Timestamp]): Vector[Phase] =
    val starts = phases.map(_.start).scanLeft(phases.head.start)(_ max _).tail
    val ends = starts.drop(1).map(Some(_)) :+ over.map(_.max(starts.last))
    phases.lazyZip(starts).lazyZip(ends).map((phase, start, end) => Phase(phase.name, start, end))
