package burst.controller.action

import org.apache.pekko.actor.typed.Scheduler
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** Between two looks at what another controller may be changing. */
object Pause:
  val First: FiniteDuration = 5.millis
  private val Longest = 200.millis

  def next(pause: FiniteDuration): FiniteDuration = (pause * 2).min(Longest)

  def before[A](pause: FiniteDuration)(work: => Future[A])(using
      scheduler: Scheduler,
      ec: ExecutionContext
  ): Future[A] =
    val due = Promise[Unit]()
    val _ = scheduler.scheduleOnce(java.time.Duration.ofNanos(pause.toNanos), () => due.success(()), ec)
    due.future.flatMap(_ => work)
