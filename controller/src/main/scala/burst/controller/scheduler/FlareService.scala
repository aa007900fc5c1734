package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, WorkerResult}
import burst.protocol.{FlareId, InvokerId, Timestamp}
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** A flare as it is, and the results of all its workers where they are known without asking the store. */
final case class FlareView(flare: Flare, results: Vector[WorkerResult] = Vector.empty)

/** What the HTTP side asks of the scheduler's side. The one seam between the two. */
trait FlareService:
  /** Gives the flare, or group, to the scheduler. What is answered is stored, but for one that nobody is told
    * of before its end: its answer is that end where it comes soon.
    */
  def submit(request: FlareRequest): Future[Either[Refusal, FlareView]]

  /** Completes when the flare has ended, or with its present state after `limit`. */
  def await(id: FlareId, limit: FiniteDuration): Future[Option[FlareView]]

  /** Also closes a group, with the flares that run or wait on it. */
  def cancel(id: FlareId, by: CancelledBy = CancelledBy.User): Future[CancelOutcome]

  /** Ends all flares and groups of a namespace that has been revoked, and those that are still on their way.
    */
  def endRevoked(namespace: String): Future[Unit]

  /** Where it stands in the queue; nothing when it does not wait, or nobody can tell at present. */
  def queueEstimate(id: FlareId): Future[Option[QueueEstimate[Timestamp]]]
  def invokers(): Future[Vector[InvokerView]]

  /** Has a machine be given no more flares, or some again: the scheduler alone is told. The machine as it
    * then is; nothing where the scheduler knows none of that id.
    */
  def drain(id: InvokerId, on: Boolean): Future[Option[InvokerView]]
