package burst.controller.scheduler

import burst.protocol.FlareId

/** Gives each group's slots to one of its flares after the other: places a flare on its group's packs as soon
  * as its turn has come ([[GroupQueues]]). Belongs to the scheduler's actor.
  */
private[scheduler] final class GroupTurns(
    flares: FlareActors,
    holding: AttemptId => Option[Holding],
    invokers: InvokerDirectory
):
  private var queues = GroupQueues.empty

  /** The groups that were told to end and have not ended yet. */
  private var closing = Set.empty[FlareId]

  /** The number of flares that run or wait on a group. */
  def length(group: FlareId): Int = queues.flaresOf(group).length
  def current(group: FlareId): Option[FlareId] = queues.current(group)

  def queueEstimate(flare: FlareId): Option[QueueEstimate[Nothing]] =
    queues.position(flare).map(QueueEstimate(_, Left(WaitsFor.Turn)))

  /** The attempt under which the group of this flare holds its slots. */
  def holderOf(flare: FlareId): Option[AttemptId] = queues.groupOf(flare).flatMap(attemptOf)

  /** The flare takes no more members, if it is a group. */
  def close(group: FlareId): Unit = closing += group
  def isClosing(group: FlareId): Boolean = closing.contains(group)

  /** Adds the flare to the group's queue; returns its placement if it is its turn already. */
  def join(group: FlareId, flare: FlareId): Option[FlareActor.Placed] =
    queues = queues.join(group, flare)
    if !current(group).contains(flare) then None
    else
      flares.tell(group, FlareActor.Occupied(true))
      placed(group)

  /** The group's packs are ready: they wait for flares, or run an adopted one. */
  def opened(group: FlareId, attempt: Int): Unit =
    if queues.attempt(group).contains(attempt) then
      flares.tell(group, FlareActor.Occupied(current(group).isDefined))
    else
      queues = queues.opened(group, attempt)
      startNext(group)

  /** A flare runs on a group, as another scheduler placed it. Waiting flares join after it. */
  def adopt(group: AttemptId, flare: FlareId): Unit =
    queues = queues.opened(group.flare, group.attempt).join(group.flare, flare)
    flares.tell(group.flare, FlareActor.Occupied(true))

  /** Places the next attempt of a flare whose packs were never requested; it keeps its turn. */
  def again(flare: FlareId, attempt: Int): Unit =
    val group = queues.groupOf(flare).filter(current(_).contains(flare))
    flares.tell(flare, group.flatMap(placed(_, attempt)).getOrElse(FlareActor.GroupEnded))

  /** A flare has ended, or no longer waits. */
  def leave(flare: FlareId): Unit = queues.groupOf(flare).foreach: group =>
    val its = current(group).contains(flare)
    queues = queues.leave(flare)
    if its then startNext(group)

  /** Ends the group: flares that wait for their turn or their inputs end as well; a running one is notified
    * of its packs' end.
    */
  def end(group: FlareId): Unit =
    queues.flaresOf(group).foreach(flares.tell(_, FlareActor.GroupEnded))
    queues = queues.ended(group)
    closing -= group

  private def startNext(group: FlareId): Unit =
    val next = current(group)
    flares.tell(group, FlareActor.Occupied(next.isDefined))
    next.foreach(flares.tell(_, placed(group).getOrElse(FlareActor.GroupEnded)))

  /** The placement of a group's packs, for one of its flares. */
  private def placed(group: FlareId, attempt: Int = 1): Option[FlareActor.Placed] =
    attemptOf(group)
      .flatMap(holding)
      .map(held => FlareActor.Placed(attempt, held.plan, invokers.refs(held.plan.demand.keySet)))

  private def attemptOf(group: FlareId): Option[AttemptId] = queues.attempt(group).map(AttemptId(group, _))
