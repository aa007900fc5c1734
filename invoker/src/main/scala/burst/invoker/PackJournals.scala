package burst.invoker

import burst.protocol.{PackEvent, PackKey, PackReport}

/** The reports of packs to a scheduler, for another one that may take over from it: all that is not stored
  * yet, and of the rest what shows how far the packs are. Belongs to the link's actor.
  *
  * A pack has a journal from when it is requested until it is over, or requested by another attempt. Together
  * they hold at most `limit` bytes: of a pack that has reported more only the end is kept, and no other
  * scheduler can continue it.
  */
private final class PackJournals(limit: Long):
  import PackJournals.*

  private var journals = Map.empty[PackKey, Journal]
  private var bytes = 0L

  def begin(pack: PackKey): Unit =
    if !journals.contains(pack) then
      // Attempts do not overlap: all packs of the previous one have ended.
      journals.keys.filter(known => known.copy(attempt = pack.attempt) == pack).foreach(remove)
      journals = journals.updated(pack, Journal())

  /** Returns the report with its number, if its pack has a journal. */
  def add(report: PackReport): PackReport =
    val pack = report.packKey
    journals.get(pack).fold(report): journal =>
      val numbered = report.copy(number = Some(journal.last + 1))
      val size = sizeOf(report)
      if !journal.isComplete || bytes + size > limit then
        put(pack, Journal(ends(numbered), journal.last + 1, isComplete = false))
      else put(pack, Journal(journal.reports :+ numbered, journal.last + 1, bytes = journal.bytes + size))
      numbered

  /** The first `count` reports are stored. */
  def stored(pack: PackKey, count: Long): Unit =
    journals.get(pack).foreach: journal =>
      val (stored, rest) = journal.reports.span(_.number.forall(_ <= count))
      val finished = stored.iterator.flatMap(_.events).flatMap(finishedBy).toSet
      val remaining = stored.map(compacted(_, finished)).filterNot(isEmpty) ++ rest
      put(pack, journal.copy(remaining, bytes = remaining.iterator.map(sizeOf).sum))

  def remove(pack: PackKey): Unit =
    journals.get(pack).foreach(journal => bytes -= journal.bytes)
    journals -= pack

  def clear(): Unit =
    journals = Map.empty
    bytes = 0

  def held: Vector[PackKey] = journals.keys.toVector

  /** The packs of which only the end is kept. */
  def partial: Vector[PackKey] = journals.filterNot(_._2.isComplete).keys.toVector

  def reports(pack: PackKey): Vector[PackReport] = journals.get(pack).fold(Vector.empty)(_.reports)

  private def put(pack: PackKey, journal: Journal): Unit =
    bytes += journal.bytes - journals.get(pack).fold(0L)(_.bytes)
    journals = journals.updated(pack, journal)

private object PackJournals:
  /** `last` is the number of the last report. */
  private final case class Journal(
      reports: Vector[PackReport] = Vector.empty,
      last: Long = 0,
      isComplete: Boolean = true,
      bytes: Long = 0
  )

  /** The size of an event without its contents. */
  private val EventOverhead = 64L

  private def sizeOf(report: PackReport): Long =
    PackReport.length(report.events) + EventOverhead * report.events.length

  private def ends(report: PackReport): Vector[PackReport] =
    val last = report.events.filter(_.isInstanceOf[PackEvent.PackEnded])
    if last.isEmpty then Vector.empty else Vector(report.copy(events = last))

  private def finishedBy(event: PackEvent): Option[Int] = event match
    case PackEvent.WorkerSucceeded(worker, _, _) => Some(worker)
    case PackEvent.WorkerFailed(worker, _, _) => Some(worker)
    case _ => None

  /** Compacts a report that is stored. The outputs of workers that have not `finished` are kept, as they have
    * only been gathered so far, by a scheduler that may be gone.
    */
  private def compacted(report: PackReport, finished: Set[Int]): PackReport =
    report.copy(events = report.events.flatMap:
      case _: (PackEvent.Log | PackEvent.Phase) => None
      case PackEvent.Output(worker, _) if finished(worker) => None
      case PackEvent.WorkerSucceeded(worker, _, at) => Some(PackEvent.WorkerSucceeded(worker, "", at))
      case other => Some(other))

  private def isEmpty(report: PackReport): Boolean =
    report.events.isEmpty && report.start.isEmpty && report.slots.isEmpty && report.begins.isEmpty
