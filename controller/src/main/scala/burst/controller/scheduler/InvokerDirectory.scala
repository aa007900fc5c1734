package burst.controller.scheduler

import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef
import org.slf4j.Logger

/** The scheduler's view of the invokers: their last status, their references, and what must still be sent to
  * those that are away. Belongs to the scheduler's actor. Reports of packs that are aborted here belong to
  * whoever had them prepared: `nobody` waits for them.
  */
private[scheduler] final class InvokerDirectory(log: Logger, nobody: ActorRef[InvokerReport]):
  import InvokerDirectory.Entry

  private var invokers = Map.empty[InvokerId, Entry]
  private var orphans = Map.empty[InvokerId, Vector[(FlareId, PackId)]]
  private var cleanUps = Vector.empty[GangScheduler.CleanUp]

  def statuses: Vector[InvokerStatus] = invokers.valuesIterator.map(_.status).toVector.sortBy(_.id)

  def status(id: InvokerId): Option[InvokerStatus] = invokers.get(id).map(_.status)

  def refs(ids: Set[InvokerId]): Map[InvokerId, ActorRef[InvokerRequest]] =
    ids.iterator.flatMap(id => invokers.get(id).map(id -> _.invoker)).toMap

  /** An invoker is up. Packs it was thought to have lost are aborted before anything else is requested from
    * it: their slots have been given away.
    */
  def up(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    log.info(s"invoker ${status.id.value} is up: ${status.slots} slots, driver ${status.driver}")
    invokers = invokers.updated(status.id, Entry(status, invoker, up = true))
    val failure =
      Failure(FailureKind.InvokerLost, "the invoker had been given up", invoker = Some(status.id))
    orphans
      .getOrElse(status.id, Vector.empty)
      .foreach((flare, pack) => abort(invoker, flare, pack, failure))
    orphans = orphans.removed(status.id)
    val waiting = cleanUps
    cleanUps = Vector.empty
    waiting.foreach(clean)

  def report(status: InvokerStatus): Unit =
    invokers = invokers.updatedWith(status.id)(_.map(_.copy(status = status)))

  /** Sends what waits for room, if that has changed since it was last sent; also if nothing waits, as another
    * scheduler may have sent otherwise.
    */
  def tellWanted(id: InvokerId, packs: Vector[WantedPacks]): Unit =
    for entry <- invokers.get(id) if !entry.wanted.contains(packs) do
      invokers = invokers.updated(id, entry.copy(wanted = Some(packs)))
      entry.invoker ! InvokerRequest(WantRoom(packs), nobody)

  def down(id: InvokerId, lost: Vector[(FlareId, PackId)]): Unit =
    invokers = invokers.updatedWith(id)(_.map(_.copy(up = false)))
    abortOnReturn(id, lost)

  def forget(id: InvokerId): Unit =
    invokers = invokers.removed(id)
    orphans = orphans.removed(id)

  /** Has these packs aborted if the invoker comes back. */
  def abortOnReturn(id: InvokerId, packs: Vector[(FlareId, PackId)]): Unit =
    if packs.nonEmpty then orphans = orphans.updated(id, orphans.getOrElse(id, Vector.empty) ++ packs)

  def abort(id: InvokerId, flare: FlareId, pack: PackId, failure: Failure): Unit =
    invokers.get(id).foreach(entry => abort(entry.invoker, flare, pack, failure))

  /** Tells the invoker that this pack no longer matters to anyone. */
  def over(id: InvokerId, attempt: AttemptId, pack: PackId): Unit =
    invokers.get(id).foreach: entry =>
      val over = PackStored(attempt.flare, attempt = attempt.attempt, pack = pack, reports = 0, over = true)
      entry.invoker ! InvokerRequest(over, nobody)

  private def abort(
      invoker: ActorRef[InvokerRequest],
      flare: FlareId,
      pack: PackId,
      failure: Failure
  ): Unit = invoker ! InvokerRequest(AbortPack(flare, pack, failure), nobody)

  /** Has an invoker that is up clean a flare's backend; kept until one is up. */
  def clean(request: GangScheduler.CleanUp): Unit =
    // An invoker that is about to stop might not finish it.
    val up =
      (request.preferred.iterator.flatMap(invokers.get) ++ invokers.valuesIterator).filter(_.up).toVector
    up.find(!_.status.isLeaving).orElse(up.headOption) match
      case Some(entry) =>
        entry.invoker ! InvokerRequest(CleanFlare(request.id, request.backend), request.replyTo)
      case None => cleanUps :+= request

private object InvokerDirectory:
  /** `wanted` is what it was last told is waiting for room. */
  private final case class Entry(
      status: InvokerStatus,
      invoker: ActorRef[InvokerRequest],
      up: Boolean,
      wanted: Option[Vector[WantedPacks]] = None
  )
