package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, WorkerResult}
import burst.protocol.{FlareId, InvokerId, Timestamp}
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** A flare in its present state, and the results of all its workers if they are known without asking the
  * store.
  */
final case class FlareView(flare: Flare, results: Vector[WorkerResult] = Vector.empty)

/** The interface through which the HTTP side calls the scheduler's side. The only seam between the two. */
trait FlareService:
  /** Submits the flare, or group, to the scheduler. The answer is stored first, except for a flare that
    * nobody learns of before its end: its answer is that end if it comes soon.
    */
  def submit(request: FlareRequest): Future[Either[Refusal, FlareView]]

  /** Completes when the flare has ended, or after `limit` with its present state. */
  def await(id: FlareId, limit: FiniteDuration): Future[Option[FlareView]]

  /** Cancels a flare, or closes a group with the flares that run or wait on it. */
  def cancel(id: FlareId, by: CancelledBy = CancelledBy.User): Future[CancelOutcome]

  /** Ends all flares and groups of a namespace that has been revoked, including those that are still on their
    * way.
    */
  def endRevoked(namespace: String): Future[Unit]

  /** The flare's queue estimate; nothing if it does not wait, or if it is not known at present. */
  def queueEstimate(id: FlareId): Future[Option[QueueEstimate[Timestamp]]]
  def invokers(): Future[Vector[InvokerView]]

  /** Drains a machine, or ends that; only the scheduler is notified. Returns the machine's new state; nothing
    * if the scheduler knows no machine with that id.
    */
  def drain(id: InvokerId, on: Boolean): Future[Option[InvokerView]]
