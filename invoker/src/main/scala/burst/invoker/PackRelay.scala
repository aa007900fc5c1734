package burst.invoker

import burst.protocol.{FlareId, PackId, PackKey, PackReport, ToController}
import scala.collection.immutable.Queue

/** Which reports of packs a session passes on: for packs that it has asked for, all as they happen; for one
  * that was kept from the previous session, nothing until its scheduler adopts it, and then first the earlier
  * reports that are not stored. If these are large, the scheduler sets the pace, as it does for the pack
  * itself: after a report with outputs nothing more is sent until these are stored.
  */
private final class PackRelay(journals: PackJournals, send: ToController => Unit):
  private var forwarded = Set.empty[PackKey]

  /** Reports that adopted packs have yet to send. */
  private var backlog = Map.empty[PackKey, Queue[PackReport]]

  def began(pack: PackKey): Unit =
    journals.begin(pack)
    forwarded += pack

  def report(report: PackReport): Unit =
    val pack = report.packKey
    backlog.get(pack) match
      case Some(queue) => backlog = backlog.updated(pack, queue.enqueue(report))
      case None if forwarded(pack) => send(report)
      case None => ()

  def adopt(pack: PackKey): Unit = if !forwarded(pack) then
    forwarded += pack
    sendBacklog(pack, Queue.from(journals.reports(pack)))

  def remove(pack: PackKey): Unit =
    journals.remove(pack)
    forwarded -= pack
    backlog -= pack

  /** Whether the pack itself should receive this, because no earlier reports of it wait: it has reported no
    * outputs since then, but may have sent reports that need no answer.
    */
  def outputStored(flare: FlareId, number: PackId): Boolean =
    backlog.find((pack, _) => pack.flareId == flare && pack.pack == number) match
      case Some((pack, rest)) =>
        sendBacklog(pack, rest)
        !rest.exists(_.isAnswered)
      case None => true

  /** Sends reports up to the first one that has to be stored before the next. */
  private def sendBacklog(pack: PackKey, reports: Queue[PackReport]): Unit =
    val (free, rest) = reports.span(!_.isAnswered)
    free.foreach(send)
    rest.dequeueOption match
      case Some((answered, after)) =>
        send(answered)
        backlog = backlog.updated(pack, after)
      case None => backlog -= pack
