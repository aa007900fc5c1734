package burst.invoker.pack

import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef

/** Tells the controller of one pack of one flare. Failures say where they happened. */
private[invoker] final class PackReporter(
    assignment: PackAssignment,
    services: PackServices,
    replyTo: ActorRef[PackReport]
):
  def tell(
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
      start,
      events.map(named),
      slots,
      begins
    )

  /** The last report. */
  def ended(reusable: Boolean, error: Option[Failure]): Unit =
    error.foreach(failure => services.metrics.packFailed(failure.kind))
    tell(Vector(PackEvent.PackEnded(reusable, error, services.clock())))

  private def named(event: PackEvent): PackEvent = event match
    case failed: PackEvent.WorkerFailed =>
      services.metrics.workerFailed(failed.error.kind)
      failed.copy(error = here(failed.error))
    case ended: PackEvent.PackEnded => ended.copy(error = ended.error.map(here))
    case other => other

  private def here(failure: Failure): Failure = failure.at(services.invoker, assignment.pack)
