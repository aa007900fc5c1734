package burst.controller.scheduler

import burst.protocol.{FlareId, InvokerId}
import scala.collection.immutable.TreeMap
import scala.collection.mutable

/** What a flare's attempt still holds: by pack, the slots not given back yet. `tenant` is the namespace that
  * pays for them, `lease` says for how long.
  */
final case class Holding(tenant: String, plan: Plan, held: Vector[Int], lease: Lease):
  def total: Int = held.sum

  /** Slots held of each machine. */
  lazy val byMachine: Map[InvokerId, Int] =
    val slots = mutable.Map.empty[InvokerId, Int]
    plan.packs.foreach { pack =>
      if held(pack.pack) > 0 then
        slots.update(pack.invoker, slots.getOrElse(pack.invoker, 0) + held(pack.pack))
    }
    slots.toMap

/** A machine in the books. `slots` are what it offers, `used` what is reserved of it. `used` may exceed
  * `slots` only after the machine came back with fewer slots than it had; it then offers nothing until enough
  * was given back.
  */
final case class Capacity(slots: Int, used: Int, up: Boolean):
  def free: Int = if up then (slots - used).max(0) else 0

/** The books of the cluster: who holds how many slots where. An immutable value; all arithmetic on slots is
  * here and nowhere else.
  *
  * Two things are impossible by construction:
  *   - ''over-reservation'': [[reserve]] checks every machine of the plan before it takes the first slot, so
  *     a plan is reserved whole or not at all;
  *   - ''double release'': slots are given back against the holding they came from, and a holding gives each
  *     slot once; releasing what is not held changes nothing.
  *
  * Example: machines a (8 slots) and b (4). Reserving `a:8, b:2` for flare f leaves 0 and 2 free. Reserving
  * `a:1` for g is refused and changes nothing. `release(f, pack 0)` gives a its 8 back, the same call again
  * nothing. When b goes down it offers nothing, but f still holds 2 on it: they come back only by a release,
  * once f's pack is known to be dead.
  */
final case class ClusterState private (
    machines: TreeMap[InvokerId, Capacity],
    holdings: Map[ClusterState.Owner, Holding],
    usedBy: Map[String, Int]
):
  import ClusterState.Owner

  /** The machines that are up, in the order of their ids. */
  lazy val view: ClusterView = viewAfter(Iterator.empty)

  /** The same once these slots were given back. */
  def viewAfter(released: Iterator[Map[InvokerId, Int]]): ClusterView =
    val back = mutable.Map.empty[InvokerId, Int]
    released.foreach(_.foreach((id, slots) => back.update(id, back.getOrElse(id, 0) + slots)))
    ClusterView(
      machines.iterator.collect {
        case (id, capacity) if capacity.up =>
          Machine(id, capacity.slots, capacity.copy(used = capacity.used - back.getOrElse(id, 0)).free)
      }.toVector
    )

  /** Slots of a holding that will be free for others when it is given back: those on machines that are up. */
  def usable(holding: Holding): Int =
    holding.byMachine.iterator.collect { case (id, slots) if machines.get(id).exists(_.up) => slots }.sum

  /** Slots a namespace holds. */
  def used(tenant: String): Int = usedBy.getOrElse(tenant, 0)

  def holds(owner: Owner): Boolean = holdings.contains(owner)

  /** Who has packs on a machine, and which. */
  def packsOn(invoker: InvokerId): Vector[(Owner, Int)] =
    holdings.iterator.flatMap { (owner, holding) =>
      holding.plan.packs.iterator
        .filter(p => p.invoker == invoker && holding.held(p.pack) > 0)
        .map(p => (owner, p.pack))
    }.toVector

  /** A machine that is new, is back, or has changed its size. */
  def up(invoker: InvokerId, slots: Int): ClusterState =
    val used = machines.get(invoker).fold(0)(_.used)
    copy(machines = machines.updated(invoker, Capacity(slots.max(0), used, up = true)))

  /** The machine offers nothing from now on; what is held on it stays held until released. */
  def down(invoker: InvokerId): ClusterState =
    machines.get(invoker).fold(this)(c => copy(machines = machines.updated(invoker, c.copy(up = false))))

  /** Takes every slot of the plan, or nothing when a machine has too few or `owner` holds something already.
    */
  def reserve(owner: Owner, tenant: String, plan: Plan, lease: Lease): Option[ClusterState] =
    val fits = plan.demand.forall((id, wanted) => machines.get(id).exists(_.free >= wanted))
    Option.when(fits && !holdings.contains(owner)):
      ClusterState(
        machines = plan.demand.foldLeft(machines) { case (rest, (id, wanted)) =>
          rest.updated(id, rest(id).copy(used = rest(id).used + wanted))
        },
        holdings = holdings.updated(owner, Holding(tenant, plan, plan.packSizes, lease)),
        usedBy = usedBy.updated(tenant, used(tenant) + plan.size)
      )

  /** Gives back slots of packs that are known to be dead; those given back before, or never held, are passed
    * over. A holding that gave all is forgotten.
    */
  def release(owner: Owner, packs: Iterable[Int]): ClusterState =
    holdings.get(owner).fold(this) { holding =>
      val freed = packs.toSet.filter(p => holding.held.isDefinedAt(p) && holding.held(p) > 0)
      val byMachine = freed.groupMapReduce(p => holding.plan.packs(p).invoker)(holding.held)(_ + _)
      val rest = holding.copy(held = freed.foldLeft(holding.held)((held, pack) => held.updated(pack, 0)))
      val tenantLeft = used(holding.tenant) - byMachine.values.sum
      ClusterState(
        machines = byMachine.foldLeft(machines) { case (all, (id, slots)) =>
          all.updated(id, all(id).copy(used = all(id).used - slots))
        },
        holdings =
          if rest.held.forall(_ == 0) then holdings.removed(owner) else holdings.updated(owner, rest),
        usedBy = if tenantLeft == 0 then usedBy.removed(holding.tenant)
        else usedBy.updated(holding.tenant, tenantLeft)
      )
    }

  def releaseAll(owner: Owner): ClusterState =
    holdings.get(owner).fold(this)(holding => release(owner, holding.held.indices))

object ClusterState:
  /** Slots are held by one try of one flare. */
  final case class Owner(flare: FlareId, attempt: Int)

  val empty: ClusterState = ClusterState(TreeMap.empty, Map.empty, Map.empty)
