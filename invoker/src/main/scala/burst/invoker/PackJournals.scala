package burst.invoker

import burst.protocol.{HeldPack, PackEvent, PackReport}

/** What packs have told a scheduler, for another one that may take over from it: all that is not stored yet,
  * and of the rest what says how far the packs are. Belongs to the link's actor.
  *
  * A pack has a journal from when it is asked for until it is over. Together they hold at most `limit` bytes
  * of outputs and logs: of a pack that has told more nothing is kept, and no other scheduler can have it.
  */
private final class PackJournals(limit: Long):
  import PackJournals.*

  private var journals = Map.empty[HeldPack, Journal]
  private var bytes = 0L

  def begin(pack: HeldPack): Unit =
    if !journals.contains(pack) then journals = journals.updated(pack, Journal())

  /** With its number, if its pack has a journal. */
  def add(report: PackReport): PackReport =
    val pack = PackJournals.packOf(report)
    journals.get(pack).fold(report): journal =>
      val numbered = report.copy(number = Some(journal.last + 1))
      val size = sizeOf(report)
      if !journal.isWhole then put(pack, journal.copy(last = journal.last + 1))
      else if bytes + size > limit then put(pack, Journal(last = journal.last + 1, isWhole = false))
      else put(pack, Journal(journal.told :+ numbered, journal.last + 1, bytes = journal.bytes + size))
      numbered

  /** What was told in the first `reports` is stored. */
  def stored(pack: HeldPack, reports: Long): Unit =
    journals.get(pack).foreach: journal =>
      val (stored, rest) = journal.told.span(_.number.forall(_ <= reports))
      val finished = stored.iterator.flatMap(_.events).flatMap(finishedBy).toSet
      val left = stored.map(essence(_, finished)).filterNot(isEmpty) ++ rest
      put(pack, journal.copy(left, bytes = left.iterator.map(sizeOf).sum))

  def over(pack: HeldPack): Unit =
    journals.get(pack).foreach(journal => bytes -= journal.bytes)
    journals -= pack

  def clear(): Unit =
    journals = Map.empty
    bytes = 0

  /** The packs that another scheduler can have, and those that none can. */
  def held: (Vector[HeldPack], Vector[HeldPack]) =
    val (whole, partial) = journals.toVector.partition(_._2.isWhole)
    (whole.map(_._1), partial.map(_._1))

  def told(pack: HeldPack): Vector[PackReport] = journals.get(pack).fold(Vector.empty)(_.told)

  private def put(pack: HeldPack, journal: Journal): Unit =
    bytes += journal.bytes - journals.get(pack).fold(0L)(_.bytes)
    journals = journals.updated(pack, journal)

private object PackJournals:
  def packOf(report: PackReport): HeldPack = HeldPack(report.flareId, report.attempt, report.pack)

  /** `last` is the number of the last report. */
  private final case class Journal(
      told: Vector[PackReport] = Vector.empty,
      last: Long = 0,
      isWhole: Boolean = true,
      bytes: Long = 0
  )

  private def sizeOf(report: PackReport): Long =
    PackReport.outputBytes(report.events) + report.events.iterator.map {
      case PackEvent.Log(_, _, text, _) => text.length.toLong
      case _ => 0L
    }.sum

  private def finishedBy(event: PackEvent): Option[Int] = event match
    case PackEvent.WorkerSucceeded(worker, _, _) => Some(worker)
    case PackEvent.WorkerFailed(worker, _, _) => Some(worker)
    case _ => None

  /** Of a report that is stored. The outputs of workers that have not `finished` are only gathered so far, by
    * a scheduler that may be gone.
    */
  private def essence(report: PackReport, finished: Set[Int]): PackReport =
    report.copy(events = report.events.flatMap:
      case _: (PackEvent.Log | PackEvent.Phase) => None
      case PackEvent.Output(worker, _) if finished(worker) => None
      case PackEvent.WorkerSucceeded(worker, _, at) => Some(PackEvent.WorkerSucceeded(worker, "", at))
      case other => Some(other))

  private def isEmpty(report: PackReport): Boolean =
    report.events.isEmpty && report.start.isEmpty && report.slots.isEmpty && report.begins.isEmpty
