package burst.controller.http

import java.util.concurrent.atomic.AtomicLong
import scala.concurrent.{ExecutionContext, Future}

/** How many bytes of large bodies may be held at once, over all connections: each is held several times over
  * while it is decoded, and a handful of the largest would exhaust the heap, which ends the process.
  */
final class BodyBudget(total: Long):
  private val held = AtomicLong()

  /** Works with `bytes` set aside, or refuses when that many are not left. */
  def within(bytes: Long)(work: => Answer): Answer =
    if held.addAndGet(bytes) > total then
      held.addAndGet(-bytes)
      Future.successful(Left(ApiError.Busy))
    else
      given ExecutionContext = ExecutionContext.parasitic
      // Begun within a future, so that nothing stays set aside when it throws.
      Future.unit.flatMap(_ => work).andThen { case _ => held.addAndGet(-bytes) }
