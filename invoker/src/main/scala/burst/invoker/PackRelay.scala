package burst.invoker

import burst.protocol.{FlareId, PackKey, PackReport, ToController}
import scala.collection.immutable.Queue

/** What of packs is told in a session: of those that it has asked for, all as it happens; of one that was
  * kept from the session before, nothing until its scheduler adopts it, and then first what was told the last
  * one and is not stored. Where that is much, the scheduler sets the pace, as it does for the pack itself:
  * after a report with outputs nothing more is told until these are stored.
  */
private final class PackRelay(journals: PackJournals, send: ToController => Unit):
  private var told = Set.empty[PackKey]

  /** What adopted packs have yet to tell. */
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

  /** Whether that concerns the pack itself, which waits for no others: it has told no outputs since, but may
    * have told what needs no answer.
    */
  def outputStored(flare: FlareId, number: Int): Boolean =
    behind.find((pack, _) => pack.flareId == flare && pack.pack == number) match
      case Some((pack, rest)) =>
        tell(pack, rest)
        !rest.exists(_.isAnswered)
      case None => true

  /** Up to the first that is to be stored before more is told. */
  private def tell(pack: PackKey, reports: Queue[PackReport]): Unit =
    val (free, rest) = reports.span(!_.isAnswered)
    free.foreach(send)
    rest.dequeueOption match
      case Some((answered, after)) =>
        send(answered)
        behind = behind.updated(pack, after)
      case None => behind -= pack
