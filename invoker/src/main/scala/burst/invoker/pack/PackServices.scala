package burst.invoker.pack

import burst.invoker.driver.{Container, Driver}
import burst.invoker.metrics.InvokerMetrics
import burst.invoker.packages.PackageCache
import burst.invoker.pool.PackShape
import burst.invoker.runtime.RuntimeClient
import burst.node.FairSemaphore
import burst.node.metrics.MetricsRegistry
import burst.protocol.{InvokerId, PackStart, PackageId, Timestamp}
import java.nio.file.Path
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.FiniteDuration

/** A container with a definition's program running in it; `throttled` if it is limited to fewer CPUs than its
  * shape has, `watched` if the invoker watches its container's end. Its holder also holds the package in the
  * cache, and must release it once the container is gone.
  */
final case class LoadedPack(
    container: Container,
    shape: PackShape,
    packagePath: Path,
    throttled: Boolean = false,
    watched: Boolean = false
):
  def packageId: PackageId = shape.definition.packageId

/** What a pack can begin with. */
enum Supply:
  /** A pack that ran the same definition before. */
  case Warm(pack: LoadedPack)

  /** A pack in which other calls of the action run. */
  case Shared(pack: LoadedPack)

  /** A pack that another call is starting. */
  case Starting

  /** A container without a definition yet. */
  case Prewarmed(container: Container)
  case Nothing

  /** How the pack comes up if all goes well. */
  def start: PackStart = this match
    case Warm(_) | Shared(_) | Starting => PackStart.Warm
    case Prewarmed(_) => PackStart.Prewarmed
    case Nothing => PackStart.Cold

/** How long a pack waits, and for what; each is a key of `burst.invoker.pack`. */
final case class PackTimings(
    /** For the program's hello after `/init`. */
    init: FiniteDuration,
    /** For a pack to end after an abort, before its container is removed. */
    abort: FiniteDuration,
    /** Beyond the flare's deadline, for the controller to end it in order. */
    deadlineSlack: FiniteDuration,
    /** If only one of a container's end and its stream's end has been reported, for the other. */
    settle: FiniteDuration,
    /** For slots of ended workers to be given back while their pack goes on; without it they wait for its
      * end.
      */
    slotReturn: Option[FiniteDuration]
):
  /** How long the runtime waits for the hello: less than the pack, as the runtime has the program's last
    * output.
    */
  def report: FiniteDuration = init * 4 / 5

/** What every pack of an invoker works with. `advertise` is the address at which packs elsewhere reach this
  * machine, if that differs from its containers' addresses; `outputs` is the memory for workers' outputs on
  * their way to the controller.
  */
final case class PackServices(
    invoker: InvokerId,
    driver: Driver,
    packages: ActorRef[PackageCache.Command],
    runtime: RuntimeClient,
    timings: PackTimings,
    clock: () => Timestamp,
    outputs: FairSemaphore,
    advertise: Option[String] = None,
    metrics: InvokerMetrics = InvokerMetrics(MetricsRegistry()),
    spans: PackSpanSinks = PackSpanSinks.Off
)
