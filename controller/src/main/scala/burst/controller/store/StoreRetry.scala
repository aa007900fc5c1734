package burst.controller.store

import burst.controller.blob.BlobStoreException
import java.io.IOException
import org.apache.pekko.actor.typed.Scheduler
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.pattern.after
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Retries operations that fail in a store, after increasing pauses; other failures are returned immediately.
  * An operation may have been done although it failed: doing it twice must be as good as once.
  *
  * @param limit
  *   how long to retry each call
  * @param goesOn
  *   whether retrying is still worthwhile
  */
final class StoreRetry(limit: FiniteDuration, goesOn: () => Boolean = () => true)(using
    scheduler: Scheduler,
    ec: ExecutionContext
):
  import StoreRetry.*

  /** Runs `work`, and retries it if the store fails; `what` names it in the log. */
  def apply[A](what: String)(work: () => Future[A]): Future[A] =
    attempt(what, work, First, limit.fromNow)

  /** Returns a retry for calls that share the limit, from now on. */
  def fromNow: StoreRetry =
    val until = limit.fromNow
    whilst(() => until.hasTimeLeft())

  /** Returns a retry that stops when `lasts` no longer holds. */
  def whilst(lasts: () => Boolean): StoreRetry = StoreRetry(limit, () => goesOn() && lasts())

  /** Returns a retry that lasts at most that long, for results that nobody waits for any longer. */
  def within(most: FiniteDuration): StoreRetry = StoreRetry(limit.min(most), goesOn)

  private def attempt[A](
      what: String,
      work: () => Future[A],
      pause: FiniteDuration,
      until: Deadline
  ): Future[A] =
    begun(work).recoverWith:
      case cause @ (_: StoreException | _: BlobStoreException | _: IOException)
          if goesOn() && (until - pause).hasTimeLeft() =>
        if pause == First then log.warn(s"the store failed during $what; it is tried again", cause)
        after(pause, scheduler.toClassic)(attempt(what, work, (pause * 2).min(Longest), until))

  private def begun[A](work: () => Future[A]): Future[A] =
    try work()
    catch case NonFatal(cause) => Future.failed(cause)

object StoreRetry:
  private val First = 200.millis
  private val Longest = 5.seconds

  private val log = LoggerFactory.getLogger(classOf[StoreRetry])
