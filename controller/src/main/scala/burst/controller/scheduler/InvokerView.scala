package burst.controller.scheduler

import burst.protocol.{InvokerStatus, Timestamp}

/** An invoker as the cluster state sees it. One that is up may be avoided, until a time of day, or `drained`:
  * given no more flares. `usedSlots` are those of flares that run on it.
  */
final case class InvokerView(
    status: InvokerStatus,
    freeSlots: Int,
    up: Boolean,
    quarantine: Option[Suspicion[Timestamp]] = None,
    usedSlots: Int = 0,
    drained: Boolean = false
):
  /** Whether flares may count on it, now or once others have ended. */
  def offers: Boolean = up && !drained
