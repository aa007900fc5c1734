package burst.controller.store

import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.Logger
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration
import scala.util.control.NonFatal

/** A controller's periodic work, one round at a time. */
object Rounds:
  /** Begins a round immediately and then at every interval, if `mayBegin` has answered yes by then; a round
    * that failed is tried again at the next interval. The returned function stops this, and completes when no
    * round is running any more.
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
