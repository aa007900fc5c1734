package burst.invoker

import burst.invoker.driver.ContainerExit
import burst.invoker.metrics.PackWatch
import burst.invoker.pack.{LoadedPack, PackActor, PackReporter, PackServices, Supply}
import burst.invoker.pool.PackShape
import burst.node.MonotonicTime
import burst.node.logs.LogIds.of
import burst.protocol.*
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.scaladsl.ActorContext

/** The packs of an invoker that have a `PackActor`, and how long they may run. Belongs to the invoker's
  * actor. Whatever happens to a pack's actor, the end of the pack is reported exactly once.
  */
private final class ActivePacks(services: PackServices, context: ActorContext[Invoker.Command]):
  import ActivePacks.{Active, Terminated}

  private var active = Map.empty[PackKey, Active]

  /** The time until which packs may run. */
  private var lease = Option.empty[MonotonicTime]

  /** Those to notify when no pack runs any more. */
  private var ending = Vector.empty[ActorRef[Done]]

  def contains(key: PackKey): Boolean = active.contains(key)
  def isEmpty: Boolean = active.isEmpty
  def workers: Int = containers.map(_.size).sum

  /** The shapes of packs on a node of a cluster. */
  def shapesOn(node: String): Iterable[PackShape] =
    containers.filter(_.node.contains(node)).map(PackShape.of)
  def memoryMiB: Long = containers.map(it => it.size.toLong * it.memory).sum

  /** One assignment for each container. */
  private def containers: Iterable[PackAssignment] =
    val (shared, own) = active.values.map(_.assignment).partition(_.shared.isDefined)
    own ++ shared.toVector.distinctBy(_.shared)

  def launch(assignment: PackAssignment, supply: Supply, replyTo: ActorRef[PackReport]): Unit =
    val key = assignment.packKey
    val watch = services.metrics.begins(supply.start, assignment.size)
    val actor = context.spawnAnonymous(PackActor(services, context.self))
    actor ! PackActor.Begin(assignment, supply, replyTo, watch, lease)
    context.watchWith(actor, Terminated(key))
    val shares = supply match
      case Supply.Shared(pack) => Some(pack)
      case Supply.Warm(pack) if assignment.shared.isDefined => Some(pack)
      case _ => None
    val isUp = supply.isInstanceOf[Supply.Shared]
    val waits = supply == Supply.Starting
    val known = assignment.withoutInputs
    active = active.updated(
      key,
      Active(actor, known, replyTo, watch, shares = shares, isUp = isUp, waits = waits)
    )

  // ---- Containers that calls share -----------------------------------------------------------------------

  /** The supply for a call that should share a container that other calls are already in: whether it accepts
    * one more is up to its runtime. Until its program runs again, a warm container may have no network yet,
    * and is removed together with the call that has taken it.
    */
  def sharedBy(assignment: PackAssignment): Option[Supply] =
    val others = assignment.shared.fold(Vector.empty)(callsIn(_).map(_._2))
    val open = others.filter(_.isUp).flatMap(_.shares).headOption
    Option.when(others.nonEmpty)(open.fold(Supply.Starting)(Supply.Shared(_)))

  private def callsIn(container: SharedContainer): Vector[(PackKey, Active)] =
    active.iterator.filter(_._2.assignment.shared.contains(container)).toVector

  /** Whether calls run in this container. */
  def isIn(pack: LoadedPack): Boolean = active.valuesIterator.exists(_.isIn(pack))

  /** A container's program runs: the calls that waited for it join. */
  def shares(key: PackKey, pack: LoadedPack): Unit = active.get(key).foreach: entry =>
    active = active.updated(key, entry.copy(shares = Some(pack), isUp = true))
    entry.assignment.shared.toVector.flatMap(callsIn).filter(_._2.waits).foreach: (waiting, call) =>
      call.actor ! PackActor.Join(Some(pack))
      active = active.updated(waiting, call.copy(waits = false, shares = Some(pack), isUp = true))

  /** A call has left its container: if no other call runs in it or starts one for those that wait, the first
    * of these starts it.
    */
  private def callLeft(container: SharedContainer): Unit =
    val others = callsIn(container)
    if others.nonEmpty && others.forall(_._2.waits) then
      val (key, first) = others.head
      first.actor ! PackActor.Join(None)
      active = active.updated(key, first.copy(waits = false))

  /** A flare of a group: its part goes to the group's pack, if that exists. */
  def join(group: FlareId, run: PackActor.Run): Unit =
    active.find((key, _) => key.flareId == group && key.pack == run.assignment.pack) match
      case Some((key, pack)) =>
        pack.actor ! run
        val known = run.copy(assignment = run.assignment.withoutInputs)
        active = active.updated(key, pack.copy(runs = Some(known)))
      case None => groupEnded(run)

  def groupEnded(run: PackActor.Run): Unit =
    val failure = Failure(FailureKind.PackLost, "the group has ended", operation = Some(Operation.Start))
    refuse(run.assignment, run.replyTo, failure)

  /** Reports that a requested pack cannot be provided, or has ended. */
  def refuse(assignment: PackAssignment, replyTo: ActorRef[PackReport], failure: Failure): Unit =
    PackReporter(assignment, services, replyTo).ended(reusable = false, Some(failure))

  def send(flareId: FlareId, pack: PackId)(command: PackActor.Command): Unit =
    for (key, entry) <- active if key.pack == pack && entry.isOf(flareId) do entry.actor ! command

  /** A container has exited; it may belong to a pack. */
  def exited(containerId: String, exit: ContainerExit): Unit =
    active.values.foreach(_.actor ! PackActor.Exited(containerId, exit))

  def renewLease(until: MonotonicTime): Unit =
    lease = Some(until)
    active.values.foreach(_.actor ! PackActor.RenewLease(until))

  def abortAll(failure: Failure): Unit =
    active.foreach((key, pack) => pack.actor ! PackActor.Abort(key.flareId, failure, atOnce = true))

  /** Kills all packs; [[answerIfNone]] answers. */
  def end(failure: Failure, replyTo: ActorRef[Done]): Unit =
    abortAll(failure)
    ending :+= replyTo

  /** A pack has ended. */
  def finished(key: PackKey, answered: Option[FlareId]): Unit =
    val ended = active.get(key)
    ended.flatMap(_.runs).filterNot(run =>
      answered.contains(run.assignment.flareId)
    ).foreach(groupEnded)
    remove(key)

  private def remove(key: PackKey): Unit =
    val ended = active.get(key)
    active -= key
    ended.flatMap(_.assignment.shared).foreach(callLeft)

  /** The actor of a pack that has finished is no longer active, so this one broke off. */
  def terminated(key: PackKey): Unit = active.get(key).foreach: pack =>
    context.log.atError().of(key.flareId, pack.assignment.origin).log("pack {} broke off", key.pack)
    val failure = Failure(FailureKind.Internal, "the invoker failed; see its log")
    pack.watch.ended(Some(failure))
    refuse(pack.assignment, pack.replyTo, failure)
    pack.runs.foreach(run => refuse(run.assignment, run.replyTo, failure))
    remove(key)

  def answerIfNone(): Unit = if active.isEmpty then
    ending.foreach(_ ! Done)
    ending = Vector.empty

private object ActivePacks:
  /** The actor of a pack has stopped. */
  final case class Terminated(key: PackKey)

  /** An active pack. `runs` is the last flare that came to it, if it is a group's; `shares` is the container
    * that it is in with other calls, or could share once its program `isUp`; `waits` is whether it waits for
    * one.
    */
  private final case class Active(
      actor: ActorRef[PackActor.Command],
      assignment: PackAssignment,
      replyTo: ActorRef[PackReport],
      watch: PackWatch,
      runs: Option[PackActor.Run] = None,
      shares: Option[LoadedPack] = None,
      isUp: Boolean = false,
      waits: Boolean = false
  ):
    def isIn(pack: LoadedPack): Boolean = shares.exists(_.container.id == pack.container.id)
    def isOf(flareId: FlareId): Boolean =
      assignment.flareId == flareId || runs.exists(_.assignment.flareId == flareId)
