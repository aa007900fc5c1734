package burst.controller.action

import org.apache.pekko.actor.typed.Scheduler
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.pattern.after
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** The pauses between polls of what another controller may be changing. */
object Pause:
  val First: FiniteDuration = 5.millis
  private val Longest = 200.millis

  def next(pause: FiniteDuration): FiniteDuration = (pause * 2).min(Longest)

  def before[A](pause: FiniteDuration)(work: => Future[A])(using
      scheduler: Scheduler,
      ec: ExecutionContext
  ): Future[A] =
    after(pause, scheduler.toClassic)(work)
