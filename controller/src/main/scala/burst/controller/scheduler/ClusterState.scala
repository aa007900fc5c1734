package burst.controller.scheduler

import burst.controller.placement.{ClusterView, Location, Machine, MachineMemory, PackPlacement, Plan, Taken}
import burst.protocol.{ClusterRoom, InvokerId, NodeRoom, PackId, WarmPack}
import scala.collection.immutable.TreeMap
import scala.collection.mutable

/** The slots that a flare's attempt still holds: by pack, those not released yet. `tenant` is the namespace
  * they count against, `walltime` how long they are expected to be held; each worker has `memory` MiB. An
  * attempt that `isSharer` runs in a container whose slot another attempt holds, and holds none.
  */
final case class Holding(
    tenant: String,
    plan: Plan,
    held: Vector[Int],
    walltime: Walltime,
    memory: Int = 0,
    isSharer: Boolean = false
):
  def total: Int = held.sum

  /** Slots held of each machine. */
  lazy val byMachine: Map[InvokerId, Int] =
    val slots = mutable.Map.empty[InvokerId, Int]
    plan.packs.foreach { pack =>
      if takesOf(pack) then
        slots.update(pack.invoker, slots.getOrElse(pack.invoker, 0) + held(pack.pack))
    }
    slots.toMap

  /** What is held on each location: a pack keeps all its memory until it has ended. */
  lazy val taken: Map[Location, Taken] =
    plan.packs.iterator
      .filter(takesOf)
      .map(pack =>
        pack.location -> Taken(slots = held(pack.pack), memory = pack.size.toLong * memory, packs = 1)
      )
      .toVector
      .groupMapReduce(_._1)(_._2)(_ + _)

  private def takesOf(pack: PackPlacement): Boolean = !isSharer && held(pack.pack) > 0

/** A machine as the scheduler sees it. It offers `slots`, of which `used` are reserved. `used` can exceed
  * `slots` only after the machine came back with fewer slots than it had; it then offers nothing until enough
  * were released. An `overloaded` machine is up, but offers nothing either; nor does a `drained` one, whose
  * slots do not count at all. `warm` lists its idle packs; a machine on `trial` is avoided as soon as a flare
  * has slots on it. If the machine is an invoker with several nodes of a cluster, `room` is their capacity,
  * and `lent` what is held on each. Calls may share a container if it `shares`.
  */
final case class Capacity(
    slots: Int,
    used: Int,
    up: Boolean,
    overloaded: Boolean = false,
    warm: Set[WarmPack] = Set.empty,
    trust: Trust = Trust.Trusted,
    drained: Boolean = false,
    room: Option[ClusterRoom] = None,
    lent: Map[String, Taken] = Map.empty,
    shares: Boolean = false
):
  /** Whether flares may count on its slots, now or once others have ended. */
  def offers: Boolean = up && !drained
  def free: Int = room match
    case _ if !offers || overloaded => 0
    case None => (slots - used).max(0)
    case Some(room) => room.nodes.iterator.map(node => freeOn(node, Taken.Nothing)).sum

  /** Slots that are free on a node once `back` has been released. */
  def freeOn(node: NodeRoom, back: Taken): Int =
    if offers && !overloaded then (node.slots - held(node.node).slots + back.slots).max(0).min(node.slots)
    else 0

  /** MiB that are free on a node once `back` has been released. */
  def memoryOn(node: NodeRoom, back: Taken, packMemory: Int): Long =
    (node.memory - held(node.node).all(packMemory) + back.all(packMemory)).max(0L).min(node.memory)

  def held(node: String): Taken = lent.getOrElse(node, Taken.Nothing)

  /** Whether this much is free on that node of the machine, or on the machine if it has no nodes. */
  def has(node: Option[String], wanted: Taken): Boolean = (room, node) match
    case (None, _) => free >= wanted.slots
    case (Some(room), Some(node)) =>
      room.nodes.find(_.node == node).exists: known =>
        freeOn(known, Taken.Nothing) >= wanted.slots &&
          memoryOn(known, Taken.Nothing, room.packMemory) >= wanted.all(room.packMemory)
    case (Some(_), None) => false

  /** Adds to what is held there; a negative change releases. */
  def lend(node: Option[String], change: Taken): Capacity =
    val known = node.fold(lent): node =>
      val now = held(node) + change
      if now == Taken.Nothing then lent - node else lent.updated(node, now)
    copy(used = used + change.slots, lent = known)

/** The slots of the cluster: who holds how many slots where. An immutable value; all arithmetic on slots is
  * here and nowhere else.
  *
  * Two errors are impossible by construction:
  *   - ''over-reservation'': [[reserve]] checks every machine of the plan before it takes the first slot, so
  *     a plan is reserved whole or not at all;
  *   - ''double release'': slots are released from the holding they came from, and a holding releases each
  *     slot once; releasing slots that are not held changes nothing. Messages state what a pack still needs,
  *     not what it releases, so that one that arrives twice, or late, changes nothing either.
  *
  * Example: machines a (8 slots) and b (4). Reserving `a:8, b:2` for flare f leaves 0 and 2 free. Reserving
  * `a:1` for g is refused and changes nothing. `release(f, pack 0)` returns a its 8 slots; the same call
  * again changes nothing. When b goes down it offers nothing, but f still holds 2 on it: only a release
  * returns them, once f's pack is known to be dead.
  */
final case class ClusterState private (
    machines: TreeMap[InvokerId, Capacity],
    holdings: Map[AttemptId, Holding],
    usedBy: Map[String, Int]
):
  /** The machines that accept flares, in the order of their ids. */
  lazy val view: ClusterView = viewAfter(Iterator.empty)

  /** The slots of the machines that accept flares. */
  def slots: Int = machines.valuesIterator.filter(_.offers).map(_.slots).sum

  /** The view once these slots have been released. */
  def viewAfter(released: Iterator[Map[Location, Taken]]): ClusterView =
    val back = mutable.Map.empty[Location, Taken].withDefaultValue(Taken.Nothing)
    released.foreach(_.foreach((location, taken) => back(location) += taken))
    ClusterView(
      machines.iterator.filter(_._2.offers).flatMap((id, capacity) => seen(id, capacity, back)).toVector
    )

  private def seen(id: InvokerId, capacity: Capacity, back: Location => Taken): Vector[Machine] =
    val avoided = capacity.trust == Trust.Avoided
    capacity.room match
      case None =>
        val later = capacity.copy(used = capacity.used - back(Location(id)).slots)
        Vector(Machine(id, later.slots, later.free, later.warm, avoided = avoided))
      case Some(room) =>
        room.nodes.map: node =>
          val returned = back(Location(id, Some(node.node)))
          val memory = capacity.memoryOn(node, returned, room.packMemory)
          Machine(
            id,
            node.slots,
            capacity.freeOn(node, returned),
            capacity.warm,
            avoided = avoided,
            node = Some(node.node),
            memory = Some(MachineMemory(total = node.memory, free = memory, pack = room.packMemory))
          )

  /** The number of slots the cluster can grow to, if some machines follow a cluster with nodes. */
  def most: Option[Long] =
    val offering = machines.valuesIterator.filter(_.offers).toVector
    Option.when(offering.exists(_.room.isDefined)):
      offering.iterator.map(c => c.room.fold(c.slots.toLong)(_.most.toLong)).sum

  /** The slots of a holding that become available to others when it is released: not those on machines that
    * accept no flares.
    */
  def usable(holding: Holding): Int =
    holding.byMachine.iterator.collect { case (id, slots) if machines.get(id).exists(_.offers) => slots }.sum

  /** Slots a namespace holds. */
  def used(tenant: String): Int = usedBy.getOrElse(tenant, 0)

  def holds(attempt: AttemptId): Boolean = holdings.contains(attempt)

  /** The attempts that have packs on a machine, and those packs. */
  def packsOn(invoker: InvokerId): Vector[(AttemptId, PackId)] =
    holdings.iterator.flatMap { (attempt, holding) =>
      holding.plan.packs.iterator
        .filter(p => p.invoker == invoker && holding.held(p.pack) > 0)
        .map(p => (attempt, p.pack))
    }.toVector

  /** A machine is new, is back, or has changed its size. */
  def up(invoker: InvokerId, slots: Int, room: Option[ClusterRoom] = None): ClusterState =
    val known = machines.getOrElse(invoker, Capacity(0, 0, up = true))
    copy(machines = machines.updated(invoker, known.copy(slots = slots.max(0), up = true, room = room)))

  /** Records the last report of a machine that is up; mostly it has not changed. */
  def report(invoker: InvokerId, overloaded: Boolean, warm: Set[WarmPack], shares: Boolean): ClusterState =
    change(invoker)(_.copy(overloaded = overloaded, warm = warm, shares = shares))

  /** Drains the machine, or ends that: it gets no more flares, but those that run on it continue. */
  def drain(invoker: InvokerId, drained: Boolean): ClusterState = change(invoker)(_.copy(drained = drained))

  def trust(invoker: InvokerId, trust: Trust): ClusterState = change(invoker)(_.copy(trust = trust))

  /** The machine offers nothing from now on; what is held on it stays held until released. */
  def down(invoker: InvokerId): ClusterState = change(invoker)(_.copy(up = false))

  private def change(invoker: InvokerId)(to: Capacity => Capacity): ClusterState =
    machines.get(invoker).fold(this): known =>
      val now = to(known)
      if now == known then this else copy(machines = machines.updated(invoker, now))

  /** Forgets a machine that is down and on which nothing is held. */
  def forget(invoker: InvokerId): ClusterState =
    if machines.get(invoker).exists(c => !c.up && c.used == 0) then copy(machines = machines.removed(invoker))
    else this

  /** Takes every slot of the plan, or nothing if a machine has too few or `attempt` already holds something.
    */
  def reserve(
      attempt: AttemptId,
      tenant: String,
      plan: Plan,
      walltime: Walltime,
      memory: Int = 0
  ): Option[ClusterState] =
    val holding = Holding(tenant, plan, plan.packSizes, walltime, memory)
    val fits = holding.taken.forall((at, wanted) => machines.get(at.invoker).exists(_.has(at.node, wanted)))
    Option.when(fits && !holdings.contains(attempt)):
      hold(attempt, holding, of => if of.trust == Trust.OnTrial then of.copy(trust = Trust.Avoided) else of)

  /** Records a call that runs in a container whose slot another one holds. */
  def join(attempt: AttemptId, tenant: String, plan: Plan, walltime: Walltime): ClusterState =
    copy(holdings =
      holdings.updated(attempt, Holding(tenant, plan, plan.packSizes, walltime, isSharer = true))
    )

  /** Passes the slot of a container from one call in it to another, as the first is about to leave. If the
    * first does not hold the slot, nothing changes.
    */
  def pass(from: AttemptId, to: AttemptId): ClusterState = (holdings.get(from), holdings.get(to)) match
    case (Some(leaving), Some(staying)) if !leaving.isSharer && staying.isSharer =>
      val successor = staying.copy(isSharer = false, memory = leaving.memory)
      copy(holdings = holdings.updated(from, leaving.copy(isSharer = true)).updated(to, successor))
    case _ => this

  /** Records the slots of a flare that another scheduler placed, whether or not its machines are up. */
  def adopt(
      attempt: AttemptId,
      tenant: String,
      plan: Plan,
      walltime: Walltime,
      memory: Int = 0
  ): ClusterState =
    hold(attempt, Holding(tenant, plan, plan.packSizes, walltime, memory), identity)

  private def hold(attempt: AttemptId, holding: Holding, taken: Capacity => Capacity): ClusterState =
    ClusterState(
      machines = holding.taken.foldLeft(machines) { case (rest, (at, wanted)) =>
        val known = rest.getOrElse(at.invoker, Capacity(0, 0, up = false))
        rest.updated(at.invoker, taken(known.lend(at.node, wanted)))
      },
      holdings = holdings.updated(attempt, holding),
      usedBy = usedBy.updated(holding.tenant, used(holding.tenant) + holding.plan.size)
    )

  /** Shrinks packs of which some workers have ended to the given slots, and releases the rest. A pack never
    * gets more than it holds. A holding without slots is removed.
    */
  def shrink(attempt: AttemptId, left: Iterable[(PackId, Int)]): ClusterState =
    holdings.get(attempt).fold(this) { holding =>
      val known = left.filter((pack, _) => holding.held.isDefinedAt(pack))
      val held = known.foldLeft(holding.held) { case (held, (pack, slots)) =>
        held.updated(pack, held(pack).min(slots.max(0)))
      }
      val rest = holding.copy(held = held)
      val freed = holding.taken.transform((at, taken) => taken - rest.taken.getOrElse(at, Taken.Nothing))
      val tenantLeft = used(holding.tenant) - freed.valuesIterator.map(_.slots).sum
      ClusterState(
        machines = freed.foldLeft(machines) { case (all, (at, taken)) =>
          if taken == Taken.Nothing then all
          else all.updated(at.invoker, all(at.invoker).lend(at.node, Taken.Nothing - taken))
        },
        holdings = if held.forall(_ == 0) then holdings.removed(attempt) else holdings.updated(attempt, rest),
        usedBy = if tenantLeft == 0 then usedBy.removed(holding.tenant)
        else usedBy.updated(holding.tenant, tenantLeft)
      )
    }

  /** Releases the slots of packs that are known to be dead; those already released, or never held, are
    * ignored.
    */
  def release(attempt: AttemptId, packs: Iterable[PackId]): ClusterState = shrink(attempt, packs.map(_ -> 0))

  def releaseAll(attempt: AttemptId): ClusterState =
    holdings.get(attempt).fold(this)(holding => release(attempt, holding.plan.packs.map(_.pack)))

object ClusterState:
  val empty: ClusterState = ClusterState(TreeMap.empty, Map.empty, Map.empty)
