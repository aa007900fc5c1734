package burst.invoker.pool

import burst.node.{MonotonicTime, SetupException}
import burst.protocol.{DefinitionRef, Environment, PackAssignment}
import scala.concurrent.duration.FiniteDuration

/** What makes packs alike. `memoryMiB` is per worker; a program keeps the `environment` that it was started
  * with, and a pack the `node` of a cluster that it is on.
  */
final case class PackShape(
    definition: DefinitionRef,
    workers: Int,
    memoryMiB: Int,
    environment: Environment = Environment.Empty,
    node: Option[String] = None
):
  def totalMemoryMiB: Long = workers.toLong * memoryMiB

  /** Whether they differ at most in the number of workers. A launcher runs the only worker of a pack in its
    * own process, which can no longer load code that each of several workers has to load.
    */
  def isLike(other: PackShape): Boolean =
    copy(workers = other.workers) == other &&
      (definition.kind == DefinitionRef.Rust || (workers == 1) == (other.workers == 1))

object PackShape:
  def of(assignment: PackAssignment): PackShape =
    PackShape(
      assignment.definition,
      assignment.size,
      assignment.memory,
      assignment.environment,
      assignment.node
    )

/** A pack that waits to be used again. */
final case class IdlePack[C](container: C, shape: PackShape, since: MonotonicTime)

/** Bounds on waiting packs: their number, memory and time. */
final case class PoolLimits(packs: Int, memoryMiB: Long, idle: FiniteDuration)

object PoolLimits:
  /** MiB of a machine for each waiting pack, and the maximum number of waiting packs. */
  private val Each = 96
  private val Most = 256

  private val Elsewhere = 64

  /** How many packs can wait: a number, or `auto`, which depends on the memory of the machine that they are
    * on, if it is this one.
    */
  def packs(configured: String, machineMiB: Option[Long]): Int = configured match
    case "auto" => machineMiB.fold(Elsewhere)(all => (all / Each).max(1).min(Most).toInt)
    case number =>
      number.toIntOption.filter(_ >= 0).getOrElse:
        throw SetupException(s"burst.invoker.idle-packs is '$number': give a number, or auto.")

/** Decides which packs stay warm, and which one a flare gets: pure functions; `Invoker` carries out the
  * decisions.
  *
  * A pack serves a flare of the same definition version (and so of the same namespace and package), the same
  * environment variables and the same memory per worker. Its size may differ, since a container can be
  * resized in a fraction of the time a new one takes. Worked example: with packs of 2, 4, 6 and 8 workers
  * idle, one for
  *   - 4 workers takes the 4: nothing has to change;
  *   - 5 workers takes the 6, the smallest that is large enough;
  *   - 9 workers takes the 8, which has to grow least.
  * Of several like packs the one used last is taken, so that the others reach their timeout.
  *
  * `idle` is ordered by `since`, oldest first.
  */
final case class PackPool[C](limits: PoolLimits, idle: Vector[IdlePack[C]] = Vector.empty[IdlePack[C]]):

  def memoryMiB: Long = idle.map(_.shape.totalMemoryMiB).sum
  def workers: Int = idle.map(_.shape.workers).sum

  def take(shape: PackShape): (Option[IdlePack[C]], PackPool[C]) =
    val best = idle
      .filter(_.shape.isLike(shape))
      .maxByOption(pack => (fit(pack.shape.workers, shape.workers), pack.since))
    (best, best.fold(this)(pack => remove(pack.container)))

  /** Adds a pack, and returns which ones must go to keep the limits: the longest idle first. */
  def put(container: C, shape: PackShape, now: MonotonicTime): (PackPool[C], Vector[IdlePack[C]]) =
    val all = idle :+ IdlePack(container, shape, now)
    val memory = all.map(_.shape.totalMemoryMiB).sum
    val (_, tooMany) = all.foldLeft((memory, 0)):
      case ((remaining, dropped), pack) =>
        if all.size - dropped > limits.packs || remaining > limits.memoryMiB then
          (remaining - pack.shape.totalMemoryMiB, dropped + 1)
        else (remaining, dropped)
    val (evicted, remaining) = all.splitAt(tooMany)
    (copy(idle = remaining), evicted)

  /** Removes those that have waited longer than the timeout. */
  def expire(now: MonotonicTime): (PackPool[C], Vector[IdlePack[C]]) =
    val (expired, remaining) = idle.partition(pack => pack.since + limits.idle <= now)
    (copy(idle = remaining), expired)

  /** The longest idle packs that together hold this much; nothing if all of them do not have the memory. They
    * may have fewer workers, since the missing slots could be those of running packs.
    */
  def holding(memoryMiB: Long, workers: Int): Option[Vector[IdlePack[C]]] =
    val byMemory = idle.scanLeft(0L)(_ + _.shape.totalMemoryMiB).indexWhere(_ >= memoryMiB)
    val byWorkers = idle.scanLeft(0)(_ + _.shape.workers).indexWhere(_ >= workers)
    Option.when(byMemory >= 0)(idle.take(byMemory.max(if byWorkers < 0 then idle.size else byWorkers)))

  /** The packs on a node. */
  def on(node: String): PackPool[C] = copy(idle = idle.filter(_.shape.node.contains(node)))

  def find(matches: C => Boolean): Option[IdlePack[C]] = idle.find(pack => matches(pack.container))
  def remove(container: C): PackPool[C] = copy(idle = idle.filterNot(_.container == container))

  /** The larger the better: an exact fit, then the smallest surplus, then the smallest deficit. */
  private def fit(available: Int, needed: Int): (Int, Int) =
    if available == needed then (2, 0)
    else if available > needed then (1, needed - available)
    else (0, available - needed)
