package burst.controller.scheduler

import burst.controller.store.FlareStore
import scala.concurrent.ExecutionContext

/** What the scheduler and its flares need of the world around them. `blocking` runs what waits for the store;
  * `now` is the time in microseconds since the epoch.
  */
final case class FlareEnvironment(
    store: FlareStore,
    backends: BackendCatalog,
    settings: SchedulerSettings,
    blocking: ExecutionContext,
    now: () => Long
)

object FlareEnvironment:
  /** The machine's clock. */
  def systemClock: () => Long = () =>
    val instant = java.time.Instant.now()
    instant.getEpochSecond * 1_000_000 + instant.getNano / 1000
