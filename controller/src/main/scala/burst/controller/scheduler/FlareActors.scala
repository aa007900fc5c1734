package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.protocol.FlareId
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.scaladsl.ActorContext

/** The actors of the active flares, and their namespaces. Belongs to the scheduler's actor, which receives
  * `Gone` if one dies.
  */
private[scheduler] final class FlareActors(
    environment: FlareEnvironment,
    context: ActorContext[GangScheduler.Command]
):
  import FlareActors.{nameOf, Active}

  private var active = Map.empty[FlareId, Active]

  def contains(id: FlareId): Boolean = active.contains(id)

  /** Whether the flare is active or its actor still exists: it has ended, but may still have to store that.
    */
  def isThere(id: FlareId): Boolean = contains(id) || context.child(nameOf(id)).isDefined
  def tenantOf(id: FlareId): Option[String] = active.get(id).map(_.tenant)

  def begin(flare: Flare, arrival: FlareActor.Arrival): Unit =
    val actor = context.spawn(FlareActor(environment, context.self), nameOf(flare.id))
    actor ! FlareActor.Begin(flare, arrival)
    context.watchWith(actor, GangScheduler.Gone(flare.id))
    active = active.updated(flare.id, Active(actor, flare.namespace))

  /** Sends the command to the flare's actor; returns whether there is one. */
  def tell(id: FlareId, command: FlareActor.Command): Boolean =
    val flare = active.get(id)
    flare.foreach(_.actor ! command)
    flare.isDefined

  def tellAllOf(tenant: String, command: FlareActor.Command): Unit =
    active.valuesIterator.filter(_.tenant == tenant).foreach(_.actor ! command)

  /** Nothing of the flare is left. */
  def retire(id: FlareId): Unit =
    active.get(id).foreach: flare =>
      context.unwatch(flare.actor)
      flare.actor ! FlareActor.Retire
    remove(id)

  def remove(id: FlareId): Unit = active -= id

private object FlareActors:
  private final case class Active(actor: ActorRef[FlareActor.Command], tenant: String)

  private def nameOf(id: FlareId): String = s"flare-${id.value}"
