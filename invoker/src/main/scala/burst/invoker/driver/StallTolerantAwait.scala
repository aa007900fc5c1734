package burst.invoker.driver

import scala.annotation.tailrec
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{Await, Future, TimeoutException}
import scala.util.{Failure, Success, Try}

/** `Await.result` with a timeout that only counts time in which this process was running: after a stall, the
  * awaited event may have happened already without being processed yet.
  */
private[driver] object StallTolerantAwait:
  private val Parts = 8

  @tailrec def result[A](future: Future[A], limit: FiniteDuration, parts: Int = Parts): A =
    Try(Await.result(future, limit / Parts)) match
      case Success(value) => value
      case Failure(_: TimeoutException) if !future.isCompleted =>
        if parts > 1 then result(future, limit, parts - 1) else throw new TimeoutException(s"after $limit")
      // It may have completed after the timeout.
      case Failure(_) => Await.result(future, Duration.Zero)
