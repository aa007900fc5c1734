package burst.invoker.driver

import scala.concurrent.{ExecutionContext, Future}

/** How a change of a container's limits went: less memory than is in use may be refused. */
private[driver] enum Change:
  case Made, Refused, Failed

/** What a container is held to, changed by one call after the other in the order they were asked for. */
private[driver] final class HeldLimits[L](allowed: L):
  private var wanted = allowed
  private var changed: Future[L] = Future.successful(allowed)

  /** What it is or is about to be held to. */
  def current: L = synchronized(wanted)

  /** Holds it to other limits by `apply`, which is told those it has. */
  def change(to: L)(apply: L => Change)(using ExecutionContext): Future[Change] =
    synchronized:
      wanted = to
      val outcome = changed.map(current => (current, if current == to then Change.Made else apply(current)))
      changed = outcome.map:
        case (_, Change.Made) => to
        case (current, _) => current
      outcome.map(_(1))
