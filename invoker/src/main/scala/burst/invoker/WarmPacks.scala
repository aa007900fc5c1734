package burst.invoker

import burst.invoker.driver.{ContainerExit, StopOutcome}
import burst.invoker.pack.{LoadedPack, PackServices, Supply}
import burst.invoker.packages.PackageCache
import burst.invoker.pool.{IdlePack, PackPool, PackShape, PoolLimits}
import burst.node.MonotonicTime
import burst.protocol.WarmPack
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import scala.concurrent.ExecutionContext
import scala.util.Success

/** The packs of an invoker that wait to be used again: carries out what [[PackPool]] decides. Belongs to the
  * invoker's actor.
  */
private final class WarmPacks(
    limits: PoolLimits,
    services: PackServices,
    context: ActorContext[Invoker.Command]
):
  import WarmPacks.*

  private var pool = PackPool[LoadedPack](limits)

  /** How many are being removed. */
  private var leaving = 0

  def isEmpty: Boolean = pool.idle.isEmpty && leaving == 0
  def size: Int = pool.idle.size
  def offers: Set[WarmPack] =
    pool.idle.iterator.map(idle =>
      WarmPack(idle.shape.definition, idle.shape.memoryMiB, idle.shape.node)
    ).toSet

  /** Returns what a pack of this shape begins with, after starting the eviction of the `victims` among the
    * others; nothing, without any effect, if no victims suffice.
    */
  def take(shape: PackShape)(
      victims: PackPool[LoadedPack] => Option[Vector[IdlePack[LoadedPack]]]
  ): Option[Supply] =
    val (best, others) = pool.take(shape)
    victims(others).map: victims =>
      pool = others
      victims.foreach(evict)
      best.fold(Supply.Nothing)(idle => Supply.Warm(idle.container))

  /** Watches the end of its container once: a watch by each of its flares or calls would stay for as long as
    * the container.
    */
  def watched(pack: LoadedPack): LoadedPack =
    if !pack.watched then
      context.pipeToSelf(pack.container.exit)(exit => Exited(pack.container.id, ContainerExit.of(exit)))
    pack.copy(watched = true)

  def keep(pack: LoadedPack): Unit =
    val (after, evicted) = pool.put(watched(pack), pack.shape, MonotonicTime.now())
    pool = after
    evicted.foreach(evict)

  def expire(): Unit = pool.expire(MonotonicTime.now())._2.foreach(evict)

  /** Evicts all packs, and keeps none any more. */
  def close(): Unit =
    pool = pool.copy(limits = limits.copy(packs = 0))
    pool.idle.foreach(evict)

  def exited(containerId: String): Unit = pool.find(_.container.id == containerId).foreach(evict)

  def evicted(pack: LoadedPack, outcome: StopOutcome): Unit =
    def release(): Unit = services.packages ! PackageCache.Release(pack.packageId)
    outcome match
      case StopOutcome.Stopped => release()
      case StopOutcome.NotStopped(reason, stopped) =>
        stopped.foreach(_ => release())(using ExecutionContext.parasitic)
        context.log.error("a warm pack: {}", reason)
    leaving -= 1

  private def evict(idle: IdlePack[LoadedPack]): Unit =
    discard(idle.container)
    pool = pool.remove(idle.container)

  /** Removes a pack that is no longer usable. */
  def discard(pack: LoadedPack): Unit =
    context.pipeToSelf(services.driver.stop(pack.container)):
      case Success(outcome) => Evicted(pack, outcome)
      case scala.util.Failure(problem) => Evicted(pack, StopOutcome.NotStopped(problem.toString))
    leaving += 1

private object WarmPacks:
  sealed trait Event

  /** The container of a pack that is, or was, warm has exited. */
  final case class Exited(containerId: String, exit: ContainerExit) extends Event
  final case class Evicted(pack: LoadedPack, outcome: StopOutcome) extends Event
