package burst.controller.scheduler

import burst.controller.store.FlareStore
import scala.concurrent.ExecutionContext

/** What the scheduler and its flares need of the world around them. `blocking` runs what waits for the store,
  * `logPace` holds all flares of a namespace together.
  */
final case class FlareEnvironment(
    store: FlareStore,
    backends: BackendCatalog,
    settings: SchedulerSettings,
    blocking: ExecutionContext,
    clock: Clock,
    logPace: LogPace
)
