package burst.invoker.driver

import scala.concurrent.{ExecutionContext, Future}

/** The outcome of a change of limits: less memory than is in use may be refused. */
private[driver] enum Change:
  case Made, Refused, Failed

/** The limits of a container, changed by one call after the other in the order of the requests. */
private[driver] final class HeldLimits[L](allowed: L):
  private var target = allowed
  private var changed: Future[L] = Future.successful(allowed)

  /** The current limits, or those about to apply. */
  def current: L = synchronized(target)

  /** Changes the limits by `apply`, which gets the current ones. */
  def change(to: L)(apply: L => Change)(using ExecutionContext): Future[Change] =
    synchronized:
      target = to
      val outcome = changed.map(current => (current, if current == to then Change.Made else apply(current)))
      changed = outcome.map:
        case (_, Change.Made) => to
        case (current, _) => current
      outcome.map(_(1))
