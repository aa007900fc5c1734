package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef

/** The flares that another scheduler had placed, until it is known what is left of them: the machines that
  * have packs of them report so, or are lost. Belongs to the scheduler's actor.
  */
private[scheduler] final class Adoption(
    state: SchedulerState,
    flares: FlareActors,
    groups: GroupTurns,
    invokers: InvokerDirectory
):
  /** The current attempts of the flares. */
  private var adopted = Map.empty[FlareId, Int]

  /** The machines that have not reported what they have. */
  private var awaited = Set.empty[InvokerId]

  def isAwaiting: Boolean = awaited.nonEmpty

  /** The missing machines among those that have not reported. A machine that is up will still report, or its
    * session ends.
    */
  def missing: Set[InvokerId] = awaited.filterNot(id => state.machine(id).exists(_.up))

  /** Adopts a flare. The slots of a group's flare are held by the group. */
  def adopt(flare: Flare): Unit =
    if flare.request.memberOf.isEmpty then state.adopt(flare)
    adopted = adopted.updated(flare.id, flare.attempt)
    awaited ++= flare.packs.map(_.invoker)
    flares.begin(flare, FlareActor.Arrival.Adopted)
    for
      group <- flare.request.memberOf
      attempt <- adopted.get(group)
    do groups.adopt(AttemptId(group, attempt), flare.id)

  /** Notifies each flare adopted on that machine which of its packs are left; packs of no flare are ended. */
  def held(id: InvokerId, invoker: ActorRef[InvokerRequest], holds: Holds): Unit =
    awaited -= id
    val (own, strange) = holds.packs.partition(pack => adopted.get(pack.flareId).contains(pack.attempt))
    val packs = own.groupMap(_.flareId)(_.pack)
    val placed = state.holdersOn(id).filter(at => adopted.get(at.flare).contains(at.attempt)).map(_.flare)
    val onGroups = placed.flatMap(groups.current).filter(adopted.contains)
    (placed ++ onGroups ++ packs.keySet).foreach: flare =>
      val held = packs.getOrElse(flare, Vector.empty).toSet
      val told = FlareActor.PacksHeld(id, invoker, adopted(flare), held, holds.unbroken, holds.since)
      flares.tell(flare, told)
    val failure =
      Failure(FailureKind.ControllerRestarted, "the flare has ended", operation = Some(Operation.Work))
    strange.foreach: pack =>
      // if the flare is at another attempt, all packs of this one have ended
      if !flares.contains(pack.flareId) then invokers.abort(id, pack.flareId, pack.pack, failure)
      invokers.over(id, AttemptId(pack.flareId, pack.attempt), pack.pack)

  def lost(id: InvokerId): Unit = awaited -= id

  def ended(id: FlareId): Unit = adopted -= id
