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

/** What the scheduler and its flares need of the world around them. `blocking` runs what waits for the
  * database, `transfers` what moves large things; `inputs` is the memory for large inputs on their way to the
  * packs; `logRate` holds all flares of a namespace together; `secrets` opens those of definitions;
  * `invocations` is what functions are told; `metrics` and `spans` is what operators are. Where invokers are
  * other processes packs outlive the scheduler, and the next one waits for them for so long (`adoption`).
  * `health` is what was last seen of the store, which only this process writes to where it `ownsStore`.
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
  /** Whether a flare that nobody is told of before its end may begin without being stored. */
  def beginsUnstored: Boolean = adoption.isEmpty && ownsStore

  /** What a flare's programs are to have. */
  def variables(request: FlareRequest): Either[UnopenedSecret, Environment] =
    // Of an invocation, the definition may be another namespace's.
    val (namespace, name) =
      request.activation.fold((request.definition.namespace, request.definition.name))(_.definition)
    val definition = DefinitionName(namespace, name)
    secrets.open(definition, request.environment)
