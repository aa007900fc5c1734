package burst.controller.placement

import burst.protocol.{InvokerId, PackId, SharedContainer}
import scala.collection.mutable

/** The place of a whole pack: a machine or, if an invoker has several nodes of a cluster, one of them. */
final case class Location(invoker: InvokerId, node: Option[String] = None)

/** One pack of a plan: `size` workers with the contiguous ids from `firstWorker`, on one invoker; if that has
  * several nodes, on one of them. A pack that runs beside others in a container has their slot: `shared`.
  */
final case class PackPlacement(
    pack: PackId,
    invoker: InvokerId,
    firstWorker: Int,
    size: Int,
    node: Option[String] = None,
    shared: Option[SharedContainer] = None
):
  def workers: Range = firstWorker until firstWorker + size
  def location: Location = Location(invoker, node)

/** The place of every worker of a flare. Packs are in the order of their ids and cover the worker ids without
  * a gap. `granularity` is the one in force: the unit the policy placed by, or the largest pack if it placed
  * as the machines allowed.
  */
final case class Plan(packs: Vector[PackPlacement], granularity: Int):
  lazy val packSizes: Vector[Int] = packs.map(_.size)
  def size: Int = packs.lastOption.fold(0)(last => last.firstWorker + last.size)

  /** The plan in a container that other calls may join. */
  def sharing(container: SharedContainer): Plan = copy(packs = packs.map(_.copy(shared = Some(container))))

  /** The slots the plan takes on each invoker. */
  lazy val demand: Map[InvokerId, Int] =
    val slots = mutable.LinkedHashMap.empty[InvokerId, Int]
    packs.foreach(pack => slots.update(pack.invoker, slots.getOrElse(pack.invoker, 0) + pack.size))
    slots.toMap

  /** What the plan takes on each location, with workers of this many MiB. */
  def taken(memory: Int): Map[Location, Taken] =
    packs.groupMapReduce(_.location)(pack =>
      Taken(slots = pack.size, memory = pack.size.toLong * memory, packs = 1)
    )(_ + _)

  /** Pairs of workers in different packs: every message between them leaves its pack. */
  def remotePairs: Long =
    val n = size.toLong
    (n * n - packs.iterator.map(p => p.size.toLong * p.size).sum) / 2

object Plan:
  /** The plan of a call in a container that was started for another one. */
  def ofSharer(location: Location, container: SharedContainer): Plan =
    ofShares(Vector(Share(location.invoker, workers = 1, left = 0, location.node)), 1).sharing(container)

  /** Numbers packs and workers in the order given. */
  def of(packs: IterableOnce[(InvokerId, Int)], granularity: Int): Plan =
    val builder = Builder()
    packs.iterator.foreach(builder.add(_, _))
    builder.plan(granularity)

  /** One pack per share. */
  def ofShares(shares: Vector[Share], granularity: Int): Plan =
    val builder = Builder()
    shares.foreach(share => builder.add(share.invoker, share.workers, share.node))
    builder.plan(granularity)

  /** Collects packs in the order of their ids. */
  final class Builder:
    private val packs = Vector.newBuilder[PackPlacement]
    private var count = 0
    private var workers = 0

    def add(invoker: InvokerId, size: Int, node: Option[String] = None): Unit =
      packs += PackPlacement(PackId(count), invoker, workers, size, node)
      count += 1
      workers += size

    def plan(granularity: Int): Plan = Plan(packs.result(), granularity)
