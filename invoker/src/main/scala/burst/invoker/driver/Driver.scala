package burst.invoker.driver

import burst.protocol.{Failure, Secret}
import java.nio.file.Path
import scala.concurrent.Future
import scala.util.Try

/** What one container must offer its pack. `memoryMiB` is per worker; `packageDir` holds the unpacked package
  * with its `exec`.
  */
final case class PackResources(workers: Int, memoryMiB: Int, packageDir: Path)

/** Where a runtime listens, and what it asks for: it takes orders from nobody who does not know its token,
  * such as users' code in other containers. The host is also what packs elsewhere reach this one by
  * (`RunPack.advertise`).
  */
final case class RuntimeAddress(host: String, port: Int, token: Secret)

object RuntimeAddress:
  /** The variable of a runtime's environment that holds its token. */
  val TokenVariable = "BURST_RUNTIME_TOKEN"

/** How a container came to its end. `oomKilled` says that the kernel killed in it for want of memory. */
final case class ContainerExit(code: Option[Int], oomKilled: Boolean)

object ContainerExit:
  /** Where a driver could not tell how it was, it is unknown. */
  def of(told: Try[ContainerExit]): ContainerExit = told.getOrElse(ContainerExit(None, oomKilled = false))

/** A place with a runtime in it, ready to be talked to. */
trait Container:
  def id: String
  def address: RuntimeAddress

  /** The package directory as the runtime in the container sees it. */
  def packagePath: String

  /** Completes once the container has come to its end, by itself or by `Driver.stop`. Never fails. */
  def exit: Future[ContainerExit]

enum StopOutcome:
  /** Nothing of the container runs any more. Removing what is left of it on disk is the driver's business. */
  case Gone

  /** It could not be removed within the bound; an operator has to look. */
  case StillThere(reason: String)

/** Starts and removes the containers packs run in. One implementation per kind of container; all keep the
  * same contract, which `DriverContractSuite` runs against every one of them.
  *
  *   - `start` answers with a container whose runtime accepts connections, or with a failure and nothing left
  *     behind. So does `prewarm`, whose container sees no package until `adopt`.
  *   - `stop` may be called any number of times and also for a container that died; it answers when nothing
  *     of the container runs or holds memory any more.
  *   - `close` answers when nothing of any container is left on the machine.
  *   - No future of a driver fails: what can go wrong is in its answer.
  */
trait Driver:
  /** As shown to users: `process`, `docker`. */
  def name: String

  /** Whether workers are held to their memory: only then does a pack's memory mean anything. */
  def limitsMemory: Boolean

  def start(resources: PackResources): Future[Either[Failure, Container]]

  /** Starts a container of the least size for whatever pack will come. */
  def prewarm(): Future[Either[Failure, Container]]

  /** Makes a pre-warmed container one for a pack: of its size, and with its package where the answer says.
    * Nothing when that could not be done; the container is then of no use.
    */
  def adopt(container: Container, resources: PackResources): Future[Option[Container]]

  /** Holds a container to the CPUs of so many workers, while others of its pack have ended. Memory is left as
    * it is: what ended workers used may not have come back. `false`: it could not be done.
    */
  def throttle(container: Container, workers: Int): Future[Boolean]

  /** Fits an idle container to another number of workers. `false`: it could not be done, take another. */
  def resize(container: Container, resources: PackResources): Future[Boolean]

  def stop(container: Container): Future[StopOutcome]

  /** Removes what an earlier life of this invoker left, and says how many there were. Called before `start`.
    */
  def removeOrphans(): Future[Int]

  /** Stops every container that is still there, waits until all are removed, and releases the driver's own
    * resources.
    */
  def close(): Future[Unit]
