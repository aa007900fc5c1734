package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.protocol.{InvokerId, SharedContainer, WarmPack}
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

/** Why there is no plan. */
enum NoPlacement:
  /** Not even the empty cluster could take it: `usable` workers are all it could in units of `unit`, of
    * `total` slots; no machine has more than `largest` slots.
    */
  case Never(total: Int, usable: Int, largest: Int, unit: Int)

  /** It fits the cluster, but not what is free of it now. */
  case NotNow(free: Int)

/** The memory that a machine is known to have for packs, in MiB; each pack takes `pack` beside its workers'.
  */
final case class MachineMemory(total: Long, free: Long, pack: Int):
  /** Workers of so many MiB that it holds, even if each were a pack of its own. */
  def workers(of: Long, memory: Int): Int = (of / (memory + pack).max(1)).max(0L).min(Int.MaxValue).toInt

/** A machine as policies see it, or one `node` of an invoker that has several. `free` never exceeds `slots`.
  * `packs` are its warm ones, `warm` says that one of them is for the flare at hand; an `avoided` one is for
  * those who fit nowhere else.
  */
final case class Machine(
    id: InvokerId,
    slots: Int,
    free: Int,
    packs: Set[WarmPack] = Set.empty,
    warm: Boolean = false,
    avoided: Boolean = false,
    node: Option[String] = None,
    memory: Option[MachineMemory] = None
):
  def location: Location = Location(id, node)

  /** As it is for workers of so many MiB. */
  def holding(perWorker: Int): Machine = memory.fold(this): m =>
    copy(slots = slots.min(m.workers(m.total, perWorker)), free = free.min(m.workers(m.free, perWorker)))

  /** Once so much of it is taken. */
  def less(taken: Taken): Machine =
    copy(free = free - taken.slots, memory = memory.map(m => m.copy(free = m.free - taken.all(m.pack))))

  /** With no more free than is free in `other`. */
  def within(other: Machine): Machine = copy(
    free = free.min(other.free),
    memory = memory.map(m => m.copy(free = other.memory.fold(m.free)(_.free.min(m.free))))
  )

  /** With nothing running on it. */
  def emptied: Machine = copy(free = slots, memory = memory.map(m => m.copy(free = m.total)))

/** The machines that may be used now. Made by [[ClusterState.view]]; those that are down are not in it. */
final case class ClusterView(machines: Vector[Machine]):
  lazy val totalSlots: Int = machines.iterator.map(_.slots).sum
  lazy val freeSlots: Int = machines.iterator.map(_.free).sum
  lazy val largestMachine: Int = machines.iterator.map(_.slots).maxOption.getOrElse(0)

  /** The same machines as one flare sees them. */
  def warmFor(wanted: WarmPack): ClusterView =
    def serves(machine: Machine) = machine.packs.nonEmpty && machine.packs(wanted.copy(node = machine.node))
    if machines.exists(serves) then
      ClusterView(machines.map(m => if serves(m) then m.copy(warm = true) else m))
    else this

  /** The same machines as they are for workers of so many MiB. */
  def holding(perWorker: Int): ClusterView =
    if machines.exists(_.memory.isDefined) then ClusterView(machines.map(_.holding(perWorker))) else this

  /** Without the machines that are avoided. */
  lazy val trusted: ClusterView =
    if machines.exists(_.avoided) then ClusterView(machines.filterNot(_.avoided)) else this

  def without(invoker: InvokerId): ClusterView = ClusterView(machines.filterNot(_.id == invoker))

  /** The same machines with nothing running on them: what "never" is decided upon. */
  lazy val emptied: ClusterView = ClusterView(machines.map(_.emptied))
