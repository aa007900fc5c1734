package burst.controller.scheduler

import burst.protocol.FlareId

/** The order of turns in each group: one flare at a time runs on a group's packs, the others wait in the
  * order they arrived. Before the group is open all wait. An immutable value.
  */
final case class GroupQueues private[scheduler] (
    groups: Map[FlareId, GroupQueues.GroupQueue],
    members: Map[FlareId, FlareId]
):
  import GroupQueues.GroupQueue

  /** The packs of this attempt of the group are ready. */
  def opened(group: FlareId, attempt: Int): GroupQueues =
    changed(group)(_.copy(attempt = Some(attempt)))

  /** Adds a flare at the end of the group's queue. */
  def join(group: FlareId, flare: FlareId): GroupQueues =
    changed(group)(queue => queue.copy(flares = queue.flares :+ flare))
      .copy(members = members.updated(flare, group))

  /** A flare has ended, or no longer waits. */
  def leave(flare: FlareId): GroupQueues =
    groupOf(flare).fold(this) { group =>
      changed(group)(queue => queue.copy(flares = queue.flares.filterNot(_ == flare)))
        .copy(members = members.removed(flare))
    }

  /** The group has ended, and its queue with it. */
  def ended(group: FlareId): GroupQueues =
    if groups.contains(group) then GroupQueues(groups.removed(group), members -- flaresOf(group)) else this

  /** The flare whose turn it is. */
  def current(group: FlareId): Option[FlareId] =
    groups.get(group).filter(_.isOpen).flatMap(_.flares.headOption)

  /** The attempt of a group that is open. */
  def attempt(group: FlareId): Option[Int] = groups.get(group).flatMap(_.attempt)

  def flaresOf(group: FlareId): Vector[FlareId] = groups.get(group).fold(Vector.empty)(_.flares)

  def groupOf(flare: FlareId): Option[FlareId] = members.get(flare)

  /** How many turns it is until a flare's own; nothing if it is its turn, or if it is in no queue. */
  def position(flare: FlareId): Option[Int] =
    groupOf(flare).map(group =>
      flaresOf(group).indexOf(flare) + (if groups(group).isOpen then 0 else 1)
    ).filter(_ > 0)

  private def changed(group: FlareId)(change: GroupQueue => GroupQueue): GroupQueues =
    copy(groups =
      groups.updated(group, change(groups.getOrElse(group, GroupQueue(attempt = None, Vector.empty))))
    )

object GroupQueues:
  /** `attempt` is the group's, once it is open. */
  final case class GroupQueue(attempt: Option[Int], flares: Vector[FlareId]):
    def isOpen: Boolean = attempt.isDefined

  val empty: GroupQueues = GroupQueues(Map.empty, Map.empty)
