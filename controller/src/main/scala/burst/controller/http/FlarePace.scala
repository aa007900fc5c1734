package burst.controller.http

import burst.controller.action.InvocationPace
import burst.controller.store.Identity

/** Invocations count as the flares that they are. */
final class FlarePace(rates: RateLimiter) extends InvocationPace:
  def take(caller: Identity): Either[Long, Unit] =
    rates.take(caller.namespace, caller.limits.flaresPerMinute)

  def giveBack(caller: Identity): Unit = rates.giveBack(caller.namespace, caller.limits.flaresPerMinute)
