package burst.simulator

import burst.controller.placement.Plan
import burst.node.MonotonicTime
import burst.protocol.InvokerId
import scala.collection.mutable
import scala.concurrent.duration.DurationLong
import scala.util.Random

/** The simulated invokers: when packs are ready. A machine starts its containers one after another, even
  * those of several flares.
  */
final class Machines(times: StartTimes, random: Random):
  private val busyUntil = mutable.Map.empty[InvokerId, MonotonicTime].withDefaultValue(MonotonicTime.Zero)

  /** When each pack of the plan is ready if its containers are requested at `now`. The first one of an idle
    * machine takes a whole start, those that queue behind it the time they add.
    */
  def start(plan: Plan, now: MonotonicTime): Vector[MonotonicTime] =
    plan.packs.map { pack =>
      val idle = busyUntil(pack.invoker) <= now
      val ready =
        if idle then now + times.container.draw(random)
        else busyUntil(pack.invoker) + times.further.draw(random)
      busyUntil(pack.invoker) = ready
      ready
    }

  /** When each worker of a pack that is ready at `ready` could begin if it did not wait for the others. */
  def workers(ready: MonotonicTime, size: Int): Vector[MonotonicTime] =
    Vector.tabulate(size)(worker => ready + (worker * times.worker).toLong.micros)
