package burst.invoker.pack

import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef

/** Reports on one pack of one flare to the controller. Failures say where they happened. */
private[invoker] final class PackReporter(
    assignment: PackAssignment,
    services: PackServices,
    replyTo: ActorRef[PackReport]
):
  private var held = Vector.empty[PackEvent]
  private var heldStart = Option.empty[PackStart]

  def send(
      events: Vector[PackEvent],
      start: Option[PackStart] = None,
      slots: Option[Int] = None,
      begins: Option[Boolean] = None
  ): Unit =
    replyTo ! PackReport(
      assignment.flareId,
      assignment.attempt,
      assignment.pack,
      services.invoker,
      start.orElse(heldStart),
      held ++ events.map(named),
      slots,
      begins
    )
    held = Vector.empty
    heldStart = None

  /** Keeps events for the next report, which follows soon. */
  def hold(events: Vector[PackEvent], start: Option[PackStart]): Unit =
    held ++= events.map(named)
    heldStart = start.orElse(heldStart)

  /** Sends held events, as no other report follows soon. */
  def release(): Unit = if held.nonEmpty then send(Vector.empty)

  /** Sends the last report. */
  def ended(reusable: Boolean, error: Option[Failure]): Unit =
    error.foreach(failure => services.metrics.packFailed(failure.kind))
    send(Vector(PackEvent.PackEnded(reusable, error, services.clock())))

  private def named(event: PackEvent): PackEvent = event match
    case failed: PackEvent.WorkerFailed =>
      services.metrics.workerFailed(failed.error.kind)
      failed.copy(error = atPack(failed.error))
    case ended: PackEvent.PackEnded => ended.copy(error = ended.error.map(atPack))
    case other => other

  private def atPack(failure: Failure): Failure = failure.at(services.invoker, assignment.pack)
