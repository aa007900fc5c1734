package burst.controller.store

import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.Logger
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

/** What a controller does again and again, one round at a time. */
object Rounds:
  /** Begins one at once and then at every interval, if `mayBegin` has said so by then; one that failed is
    * tried again at the next. What it returns ends that, and completes when no round is under way any more.
    */
  def start(
      interval: FiniteDuration,
      blocking: Blocking,
      log: Logger,
      failed: String,
      mayBegin: () => Future[Boolean] = () => Future.successful(true)
  )(round: => Unit)(using system: ActorSystem[?]): () => Future[Unit] =
    import system.executionContext
    @volatile var stopping = false
    @volatile var asked: Future[Any] = Future.unit
    @volatile var latest = Future.unit
    def quietly(): Unit =
      try round
      catch case NonFatal(cause) => log.warn(failed, cause)
    def begin(): Unit = if latest.isCompleted && !stopping then latest = blocking(quietly())
    val rounds = system.scheduler.scheduleWithFixedDelay(
      java.time.Duration.ZERO,
      java.time.Duration.ofNanos(interval.toNanos),
      () =>
        if asked.isCompleted then asked = mayBegin().map(if _ then begin()),
      system.executionContext
    )
    () =>
      stopping = true
      rounds.cancel()
      latest
