package burst.controller.scheduler

import burst.protocol.FlareId

/** Gives each group's slots to one of its flares after the other: has a flare placed where its group is as
  * soon as it is its turn ([[GroupQueues]]). Belongs to the scheduler's actor.
  */
private[scheduler] final class GroupTurns(
    flares: FlareActors,
    holding: AttemptId => Option[Holding],
    invokers: InvokerDirectory
):
  private var queues = GroupQueues.empty

  /** What was told to end, and has not yet. */
  private var closing = Set.empty[FlareId]

  /** How many flares a group has, and which of them it runs. */
  def length(group: FlareId): Int = queues.flaresOf(group).length
  def current(group: FlareId): Option[FlareId] = queues.current(group)

  def queueEstimate(flare: FlareId): Option[QueueEstimate[Nothing]] =
    queues.position(flare).map(QueueEstimate(_, Left(WaitsFor.Turn)))

  /** Under what the group of this flare holds its slots. */
  def holderOf(flare: FlareId): Option[AttemptId] = queues.groupOf(flare).flatMap(attemptOf)

  /** It takes no flare any more, if it is a group. */
  def close(group: FlareId): Unit = closing += group
  def isClosing(group: FlareId): Boolean = closing.contains(group)

  /** Where the flare is placed, if it is its turn already. */
  def join(group: FlareId, flare: FlareId): Option[FlareActor.Placed] =
    queues = queues.join(group, flare)
    if !current(group).contains(flare) then None
    else
      flares.tell(group, FlareActor.Occupied(true))
      placed(group)

  /** The packs of a group wait for flares, or one that was adopted has them. */
  def opened(group: FlareId, attempt: Int): Unit =
    if queues.attempt(group).contains(attempt) then
      flares.tell(group, FlareActor.Occupied(current(group).isDefined))
    else
      queues = queues.opened(group, attempt)
      startNext(group)

  /** A flare runs on a group, as another scheduler had it. Those that wait join after it. */
  def adopt(group: AttemptId, flare: FlareId): Unit =
    queues = queues.opened(group.flare, group.attempt).join(group.flare, flare)
    flares.tell(group.flare, FlareActor.Occupied(true))

  /** A flare whose packs were not asked for is at another attempt, and it is still its turn. */
  def again(flare: FlareId, attempt: Int): Unit =
    val group = queues.groupOf(flare).filter(current(_).contains(flare))
    flares.tell(flare, group.flatMap(placed(_, attempt)).getOrElse(FlareActor.GroupEnded))

  /** A flare has ended, or waits no more. */
  def leave(flare: FlareId): Unit = queues.groupOf(flare).foreach: group =>
    val its = current(group).contains(flare)
    queues = queues.leave(flare)
    if its then startNext(group)

  /** Flares that wait, for their turn or their inputs, wait in vain; what runs hears of its packs' end. */
  def end(group: FlareId): Unit =
    queues.flaresOf(group).foreach(flares.tell(_, FlareActor.GroupEnded))
    queues = queues.ended(group)
    closing -= group

  private def startNext(group: FlareId): Unit =
    val next = current(group)
    flares.tell(group, FlareActor.Occupied(next.isDefined))
    next.foreach(flares.tell(_, placed(group).getOrElse(FlareActor.GroupEnded)))

  /** The placement of a group, for a flare of it. */
  private def placed(group: FlareId, attempt: Int = 1): Option[FlareActor.Placed] =
    attemptOf(group)
      .flatMap(holding)
      .map(held => FlareActor.Placed(attempt, held.plan, invokers.refs(held.plan.demand.keySet)))

  private def attemptOf(group: FlareId): Option[AttemptId] = queues.attempt(group).map(AttemptId(group, _))
