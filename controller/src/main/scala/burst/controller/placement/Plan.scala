package burst.controller.placement

import burst.controller.flare.Flare
import burst.protocol.{InvokerId, SharedContainer}
import scala.collection.mutable

/** Where packs lie whole: a machine, or where an invoker has several of a cluster, one of its nodes. */
final case class Location(invoker: InvokerId, node: Option[String] = None)

/** One pack of a plan: `size` workers with the contiguous ids from `firstWorker`, on one invoker; where that
  * has several nodes, on one of them. One that runs beside others in a container has their slot: `shared`.
  */
final case class PackPlacement(
    pack: Int,
    invoker: InvokerId,
    firstWorker: Int,
    size: Int,
    node: Option[String] = None,
    shared: Option[SharedContainer] = None
):
  def workers: Range = firstWorker until firstWorker + size
  def location: Location = Location(invoker, node)

/** Where every worker of a flare goes. Packs stand by their id and cover the worker ids without a gap.
  * `granularity` is the one in force: the unit the policy placed by, or the largest pack where it placed as
  * the machines allowed.
  */
final case class Plan(packs: Vector[PackPlacement], granularity: Int):
  lazy val packSizes: Vector[Int] = packs.map(_.size)
  def size: Int = packs.lastOption.fold(0)(last => last.firstWorker + last.size)

  /** In a container that other calls may come to. */
  def sharing(container: SharedContainer): Plan = copy(packs = packs.map(_.copy(shared = Some(container))))

  /** Slots the plan takes of each invoker. */
  lazy val demand: Map[InvokerId, Int] =
    val slots = mutable.LinkedHashMap.empty[InvokerId, Int]
    packs.foreach(pack => slots.update(pack.invoker, slots.getOrElse(pack.invoker, 0) + pack.size))
    slots.toMap

  /** What it takes of each location, with workers of so many MiB. */
  def taken(memory: Int): Map[Location, Taken] =
    packs.groupMapReduce(_.location)(pack =>
      Taken(slots = pack.size, memory = pack.size.toLong * memory, packs = 1)
    )(_ + _)

  /** Pairs of workers that do not share a pack: what every message between them costs is a trip outside. */
  def remotePairs: Long =
    val n = size.toLong
    (n * n - packs.iterator.map(p => p.size.toLong * p.size).sum) / 2

object Plan:
  /** A call in a container that another one had made. */
  def ofSharer(location: Location, container: SharedContainer): Plan =
    ofShares(Vector(Share(location.invoker, workers = 1, left = 0, location.node)), 1).sharing(container)

  /** Numbers packs and workers in the order given. */
  def of(packs: IterableOnce[(InvokerId, Int)], granularity: Int): Plan =
    val builder = Builder()
    packs.iterator.foreach(builder.add(_, _))
    builder.plan(granularity)

  /** One pack of each share. */
  def ofShares(shares: Vector[Share], granularity: Int): Plan =
    val builder = Builder()
    shares.foreach(share => builder.add(share.invoker, share.workers, share.node))
    builder.plan(granularity)

  /** That of a flare that has been placed. */
  def of(flare: Flare): Plan =
    val packs = flare.packs.map(pack =>
      val first = pack.workers.headOption.getOrElse(0)
      PackPlacement(pack.pack, pack.invoker, first, pack.workers.length, pack.node, pack.shared)
    )
    Plan(packs, flare.granularity.getOrElse(packs.map(_.size).maxOption.getOrElse(0)))

  /** Collects packs in the order of their ids. */
  final class Builder:
    private val packs = Vector.newBuilder[PackPlacement]
    private var count = 0
    private var workers = 0

    def add(invoker: InvokerId, size: Int, node: Option[String] = None): Unit =
      packs += PackPlacement(count, invoker, workers, size, node)
      count += 1
      workers += size

    def plan(granularity: Int): Plan = Plan(packs.result(), granularity)
