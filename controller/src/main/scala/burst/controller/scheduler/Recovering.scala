package burst.controller.scheduler

import org.apache.pekko.Done
import org.apache.pekko.actor.typed.Behavior
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, StashBuffer, TimerScheduler}
import scala.concurrent.Future
import scala.util.{Failure, Success}

/** The scheduler while it reads what the last controller left ([[Recovery]]): requests wait, and if the store
  * does not answer it tries again until it does.
  */
private[scheduler] final class Recovering private (
    environment: FlareEnvironment,
    limits: SlotLimits,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command],
    stash: StashBuffer[GangScheduler.Command],
    serving: Recovered => Behavior[GangScheduler.Command]
):
  import GangScheduler.*

  private def load(): Unit =
    val found = Future(
      Recovery.run(
        environment.store,
        environment.drained,
        environment.backends,
        limits,
        adopts = environment.adoption.isDefined,
        environment.clock.now()
      )
    )(using environment.blocking)
    context.pipeToSelf(found) {
      case Success(recovered) => Loaded(recovered)
      case Failure(cause) => NotLoaded(cause)
    }

  private def behavior: Behavior[Command] = Behaviors.receiveMessage {
    case Loaded(recovered) => stash.unstashAll(serving(recovered))
    case NotLoaded(cause) =>
      context.log.error("unfinished flares cannot be read from the store; trying again", cause)
      timers.startSingleTimer(LoadAgain, LoadAgain, environment.settings.storeRetryPause * 5)
      Behaviors.same
    case LoadAgain =>
      load()
      Behaviors.same
    case Stop(replyTo) =>
      replyTo ! Done
      Behaviors.stopped
    // These are soon repeated, by their senders or by callers that have no answer: requests that are sent
    // once must find room.
    case _: (InvokerReported | Submit | Await | Locate | ListInvokers)
        if stash.size > Recovering.StashLimit / 2 =>
      Behaviors.same
    case other =>
      if !stash.isFull then stash.stash(other)
      else context.log.warn("dropped a request: too many wait for the store to be read")
      Behaviors.same
  }

private[scheduler] object Recovering:
  /** Requests that may wait. */
  private val StashLimit = 10000

  /** Recovers, and then becomes the behavior that `serving` returns. */
  def apply(
      environment: FlareEnvironment,
      limits: SlotLimits,
      context: ActorContext[GangScheduler.Command],
      timers: TimerScheduler[GangScheduler.Command]
  )(serving: Recovered => Behavior[GangScheduler.Command]): Behavior[GangScheduler.Command] =
    Behaviors.withStash(StashLimit) { stash =>
      val recovering = new Recovering(environment, limits, context, timers, stash, serving)
      recovering.load()
      recovering.behavior
    }
