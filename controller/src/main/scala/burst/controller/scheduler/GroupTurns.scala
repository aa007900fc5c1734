package burst.controller.scheduler

import burst.protocol.FlareId

/** Whose turn it is in each group: one flare at a time runs on a group's packs, the others wait in the order
  * they came. Before the group `isOpen` all wait. An immutable value.
  *
  * Example: A and B join a group that is opening; it opens: A's turn. C joins. A ends: B's turn. C is
  * cancelled. B ends: the group is idle.
  */
final case class GroupTurns private[scheduler] (
    groups: Map[FlareId, GroupTurns.Turns],
    members: Map[FlareId, FlareId]
):
  import GroupTurns.Turns

  def opened(group: FlareId): GroupTurns = changed(group)(_.copy(isOpen = true))

  /** A flare stands in line from now on. */
  def join(group: FlareId, flare: FlareId): GroupTurns =
    changed(group)(turns => turns.copy(flares = turns.flares :+ flare))
      .copy(members = members.updated(flare, group))

  /** A flare has ended, or waits no more. */
  def leave(flare: FlareId): GroupTurns =
    groupOf(flare).fold(this) { group =>
      changed(group)(turns => turns.copy(flares = turns.flares.filterNot(_ == flare)))
        .copy(members = members.removed(flare))
    }

  /** The group has ended, and all its turns with it. */
  def ended(group: FlareId): GroupTurns =
    if groups.contains(group) then GroupTurns(groups.removed(group), members -- flaresOf(group)) else this

  /** Whose turn it is. */
  def current(group: FlareId): Option[FlareId] =
    groups.get(group).filter(_.isOpen).flatMap(_.flares.headOption)

  def flaresOf(group: FlareId): Vector[FlareId] = groups.get(group).fold(Vector.empty)(_.flares)

  def groupOf(flare: FlareId): Option[FlareId] = members.get(flare)

  /** How many turns it is until a flare's own; nothing when it is its turn, or it stands nowhere. */
  def position(flare: FlareId): Option[Int] =
    groupOf(flare).map(group =>
      flaresOf(group).indexOf(flare) + (if groups(group).isOpen then 0 else 1)
    ).filter(_ > 0)

  private def changed(group: FlareId)(change: Turns => Turns): GroupTurns =
    copy(groups = groups.updated(group, change(groups.getOrElse(group, Turns(isOpen = false, Vector.empty)))))

object GroupTurns:
  final case class Turns(isOpen: Boolean, flares: Vector[FlareId])

  val empty: GroupTurns = GroupTurns(Map.empty, Map.empty)
