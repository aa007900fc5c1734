package burst.invoker

import burst.node.logs.LogIds.of
import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.Future

/** Lets `clean` delete what flares left on their backends, and sends the outcome to the requesters. Belongs
  * to the invoker's actor.
  */
private final class BackendCleanings(
    clean: (FlareId, BackendConfig) => Future[Option[Failure]],
    invoker: InvokerId,
    context: ActorContext[Invoker.Command]
):
  import BackendCleanings.*

  private var running = 0
  private var overdue = false

  def isEmpty: Boolean = running == 0

  /** Whether the invoker's stop still waits for any of them. */
  def isAwaited: Boolean = running > 0 && !overdue

  /** A backend without an address has no server: nothing can have been left there. */
  def start(flareId: FlareId, backend: BackendConfig, replyTo: ActorRef[FlareCleaned]): Unit =
    if backend.uri.isEmpty then replyTo ! FlareCleaned(flareId, None)
    else
      running += 1
      context.pipeToSelf(clean(flareId, backend)): result =>
        val error = result.fold(
          problem => Some(Failure(FailureKind.Internal, problem.getClass.getSimpleName)),
          _.map(_.copy(invoker = Some(invoker)))
        )
        Cleaned(replyTo, FlareCleaned(flareId, error))

  /** Bounds the wait for those in progress, as a server may be gone. */
  def close(within: FiniteDuration): Unit =
    val _ = context.scheduleOnce(within, context.self, Overdue)

  def on(event: Event): Unit = event match
    case Cleaned(replyTo, cleaned) =>
      running -= 1
      cleaned.error.foreach(error => context.log.atWarn().of(cleaned.flareId).log(error.message))
      replyTo ! cleaned
    case Overdue => overdue = true

private object BackendCleanings:
  sealed trait Event
  private final case class Cleaned(replyTo: ActorRef[FlareCleaned], cleaned: FlareCleaned) extends Event
  private case object Overdue extends Event
