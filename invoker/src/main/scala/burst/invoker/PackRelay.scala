package burst.invoker

import burst.protocol.{FlareId, PackId, PackKey, PackReport, ToController}
import scala.collection.immutable.Queue

/** Which reports of packs a session passes on: for packs that it has asked for, all as they happen; for one
  * that was kept from the previous session, nothing until its scheduler adopts it, and then first the earlier
  * reports that are not stored. If these are large, the scheduler sets the pace, as it does for the pack
  * itself: after a report with outputs nothing more is sent until these are stored.
  */
private final class PackRelay(journals: PackJournals, send: ToController => Unit):
  private var told = Set.empty[PackKey]

  /** Reports that adopted packs have yet to send. */
  private var behind = Map.empty[PackKey, Queue[PackReport]]

  def began(pack: PackKey): Unit =
    journals.begin(pack)
    told += pack

  def report(report: PackReport): Unit =
    val pack = report.packKey
    behind.get(pack) match
      case Some(before) => behind = behind.updated(pack, before.enqueue(report))
      case None if told(pack) => send(report)
      case None => ()

  def adopt(pack: PackKey): Unit = if !told(pack) then
    told += pack
    tell(pack, Queue.from(journals.told(pack)))

  def over(pack: PackKey): Unit =
    journals.over(pack)
    told -= pack
    behind -= pack

  /** Whether the pack itself should receive this, because no earlier reports of it wait: it has reported no
    * outputs since then, but may have sent reports that need no answer.
    */
  def outputStored(flare: FlareId, number: PackId): Boolean =
    behind.find((pack, _) => pack.flareId == flare && pack.pack == number) match
      case Some((pack, rest)) =>
        tell(pack, rest)
        !rest.exists(_.isAnswered)
      case None => true

  /** Sends reports up to the first one that has to be stored before the next. */
  private def tell(pack: PackKey, reports: Queue[PackReport]): Unit =
    val (free, rest) = reports.span(!_.isAnswered)
    free.foreach(send)
    rest.dequeueOption match
      case Some((answered, after)) =>
        send(answered)
        behind = behind.updated(pack, after)
      case None => behind -= pack
