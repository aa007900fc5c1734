package burst.controller.scheduler

import burst.controller.limits.ByteRateLimiter
import burst.controller.flare.FlareRequest
import burst.controller.metrics.{FlareMetrics, MetricsSettings}
import burst.controller.secrets.{DefinitionName, Secrets, UnopenedSecret}
import burst.node.FairSemaphore
import burst.node.metrics.MetricsRegistry
import burst.node.traces.SpanSink
import burst.controller.store.{DrainedInvokers, FlareStore, Transfers}
import burst.protocol.Environment
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.FiniteDuration

/** Services that the scheduler and its flares use. `blocking` runs calls that wait for the database,
  * `transfers` those that move large data; `inputs` is the memory for large inputs on their way to the packs;
  * `logRate` limits all flares of a namespace together; `secrets` opens those of definitions; `invocations`
  * makes the environment of functions; operators read `metrics` and `spans`. If invokers are other processes,
  * packs outlive the scheduler, and the next one waits this long for them (`adoption`). `health` is the last
  * known state of the store, which only this process writes to if it `ownsStore`.
  */
final case class FlareEnvironment(
    store: FlareStore,
    drained: DrainedInvokers,
    spool: Spool,
    inputs: FairSemaphore,
    backends: BackendCatalog,
    settings: SchedulerSettings,
    blocking: ExecutionContext,
    transfers: Transfers,
    clock: Clock,
    logRate: ByteRateLimiter,
    secrets: Secrets,
    invocations: InvocationEnvironment,
    metrics: FlareMetrics = FlareMetrics(MetricsRegistry(), MetricsSettings.Plain),
    adoption: Option[FiniteDuration] = None,
    spans: SpanSink = SpanSink.Off,
    health: StoreHealth = StoreHealth(),
    ownsStore: Boolean = true
):
  /** Whether a flare that nobody learns of before its end may begin without being stored. */
  def beginsUnstored: Boolean = adoption.isEmpty && ownsStore

  /** The environment variables of a flare's programs. */
  def variables(request: FlareRequest): Either[UnopenedSecret, Environment] =
    // An invocation's definition may belong to another namespace.
    val (namespace, name) =
      request.activation.fold((request.definition.namespace, request.definition.name))(_.definition)
    val definition = DefinitionName(namespace, name)
    secrets.open(definition, request.environment)
