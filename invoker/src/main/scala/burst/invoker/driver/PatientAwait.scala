package burst.invoker.driver

import scala.annotation.tailrec
import scala.concurrent.duration.FiniteDuration
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
      case Failure(_: TimeoutException) if parts > 1 && !future.isCompleted =>
        result(future, limit, parts - 1)
      case Failure(_: TimeoutException) if !future.isCompleted => throw new TimeoutException(s"after $limit")
      case Failure(problem) => throw problem
