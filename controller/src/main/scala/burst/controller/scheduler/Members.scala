package burst.controller.scheduler

import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef
import org.slf4j.Logger

/** The invokers as the scheduler talks to them: what they last said of themselves, how to reach them, and
  * what is still to be told to those that are away. Belongs to the scheduler's actor. What packs report that
  * are aborted here is for whoever had them prepared: `nobody` waits for it.
  */
private[scheduler] final class Members(log: Logger, nobody: ActorRef[InvokerReport]):
  import Members.Member

  private var members = Map.empty[InvokerId, Member]
  private var strays = Map.empty[InvokerId, Vector[(FlareId, Int)]]
  private var cleanUps = Vector.empty[GangScheduler.CleanUp]

  def statuses: Vector[InvokerStatus] = members.valuesIterator.map(_.status).toVector.sortBy(_.id)

  def refs(ids: Set[InvokerId]): Map[InvokerId, ActorRef[InvokerRequest]] =
    ids.iterator.flatMap(id => members.get(id).map(id -> _.invoker)).toMap

  /** An invoker is there. Packs it was thought to have lost are aborted before anything else is asked of it:
    * their slots have been given away.
    */
  def up(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    log.info(s"invoker ${status.id.value} is up: ${status.slots} slots, driver ${status.driver}")
    members = members.updated(status.id, Member(status, invoker, up = true))
    val failure =
      Failure(FailureKind.InvokerLost, "the invoker had been given up", invoker = Some(status.id))
    strays
      .getOrElse(status.id, Vector.empty)
      .foreach((flare, pack) => abort(invoker, flare, pack, failure))
    strays = strays.removed(status.id)
    val waiting = cleanUps
    cleanUps = Vector.empty
    waiting.foreach(clean)

  def report(status: InvokerStatus): Unit =
    members = members.updatedWith(status.id)(_.map(_.copy(status = status)))

  def down(id: InvokerId, lost: Vector[(FlareId, Int)]): Unit =
    members = members.updatedWith(id)(_.map(_.copy(up = false)))
    astray(id, lost)

  def forget(id: InvokerId): Unit =
    members = members.removed(id)
    strays = strays.removed(id)

  /** Packs to be aborted should the invoker be heard of. */
  def astray(id: InvokerId, packs: Vector[(FlareId, Int)]): Unit =
    if packs.nonEmpty then strays = strays.updated(id, strays.getOrElse(id, Vector.empty) ++ packs)

  def abort(id: InvokerId, flare: FlareId, pack: Int, failure: Failure): Unit =
    members.get(id).foreach(member => abort(member.invoker, flare, pack, failure))

  private def abort(
      invoker: ActorRef[InvokerRequest],
      flare: FlareId,
      pack: Int,
      failure: Failure
  ): Unit = invoker ! InvokerRequest(AbortPack(flare, pack, failure), nobody)

  /** Has an invoker that is up clean a flare's backend; kept until there is one. */
  def clean(request: GangScheduler.CleanUp): Unit =
    val up = request.preferred.iterator.flatMap(members.get).find(_.up).orElse(members.values.find(_.up))
    up match
      case Some(member) =>
        member.invoker ! InvokerRequest(CleanFlare(request.id, request.backend), request.replyTo)
      case None => cleanUps :+= request

private object Members:
  private final case class Member(
      status: InvokerStatus,
      invoker: ActorRef[InvokerRequest],
      up: Boolean
  )
