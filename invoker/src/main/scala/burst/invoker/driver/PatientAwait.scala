package burst.invoker.driver

import scala.annotation.tailrec
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{Await, Future, TimeoutException}
import scala.util.{Failure, Success, Try}

/** `Await.result` for a time of which only that counts in which this process went on: when it has stood still
  * what it waits for may be there, and only not heard yet.
  */
private[driver] object PatientAwait:
  private val Parts = 8

  @tailrec def result[A](future: Future[A], limit: FiniteDuration, parts: Int = Parts): A =
    Try(Await.result(future, limit / Parts)) match
      case Success(value) => value
      case Failure(_: TimeoutException) if !future.isCompleted =>
        if parts > 1 then result(future, limit, parts - 1) else throw new TimeoutException(s"after $limit")
      // It may have come after that.
      case Failure(_) => Await.result(future, Duration.Zero)
