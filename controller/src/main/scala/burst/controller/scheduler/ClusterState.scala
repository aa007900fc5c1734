package burst.controller.scheduler

import burst.protocol.{InvokerId, WarmPack}
import scala.collection.immutable.TreeMap
import scala.collection.mutable

/** What a flare's attempt still holds: by pack, the slots not given back yet. `tenant` is the namespace that
  * pays for them, `walltime` says for how long.
  */
final case class Holding(tenant: String, plan: Plan, held: Vector[Int], walltime: Walltime):
  def total: Int = held.sum

  /** Slots held of each machine. */
  lazy val byMachine: Map[InvokerId, Int] =
    val slots = mutable.Map.empty[InvokerId, Int]
    plan.packs.foreach { pack =>
      if held(pack.pack) > 0 then
        slots.update(pack.invoker, slots.getOrElse(pack.invoker, 0) + held(pack.pack))
    }
    slots.toMap

/** A machine as the scheduler knows it. `slots` are what it offers, `used` what is reserved of it. `used` may
  * exceed `slots` only after the machine came back with fewer slots than it had; it then offers nothing until
  * enough was given back. An `overloaded` one is up, but offers nothing either; nor does one that is
  * `drained`, which is not counted on at all. `warm` is what its idle packs are for; one that is on `trial`
  * is avoided as soon as somebody has slots of it.
  */
final case class Capacity(
    slots: Int,
    used: Int,
    up: Boolean,
    overloaded: Boolean = false,
    warm: Set[WarmPack] = Set.empty,
    trust: Trust = Trust.Trusted,
    drained: Boolean = false
):
  /** Whether flares may count on its slots, now or once others have ended. */
  def offers: Boolean = up && !drained
  def free: Int = if offers && !overloaded then (slots - used).max(0) else 0

/** The slots of the cluster: who holds how many slots where. An immutable value; all arithmetic on slots is
  * here and nowhere else.
  *
  * Two things are impossible by construction:
  *   - ''over-reservation'': [[reserve]] checks every machine of the plan before it takes the first slot, so
  *     a plan is reserved whole or not at all;
  *   - ''double release'': slots are given back against the holding they came from, and a holding gives each
  *     slot once; releasing what is not held changes nothing. What a pack still needs is said, not what it
  *     gives, so that hearing it twice, or late, changes nothing either.
  *
  * Example: machines a (8 slots) and b (4). Reserving `a:8, b:2` for flare f leaves 0 and 2 free. Reserving
  * `a:1` for g is refused and changes nothing. `release(f, pack 0)` gives a its 8 back, the same call again
  * nothing. When b goes down it offers nothing, but f still holds 2 on it: they come back only by a release,
  * once f's pack is known to be dead.
  */
final case class ClusterState private (
    machines: TreeMap[InvokerId, Capacity],
    holdings: Map[AttemptId, Holding],
    usedBy: Map[String, Int]
):
  /** The machines that take flares, in the order of their ids. */
  lazy val view: ClusterView = viewAfter(Iterator.empty)

  /** Of the machines that take flares. */
  def slots: Int = machines.valuesIterator.filter(_.offers).map(_.slots).sum

  /** The same once these slots were given back. */
  def viewAfter(released: Iterator[Map[InvokerId, Int]]): ClusterView =
    val back = mutable.Map.empty[InvokerId, Int].withDefaultValue(0)
    released.foreach(_.foreach((id, slots) => back(id) += slots))
    ClusterView(
      machines.iterator.collect {
        case (id, capacity) if capacity.offers => seen(id, capacity, back(id))
      }.toVector
    )

  private def seen(id: InvokerId, capacity: Capacity, back: Int): Machine =
    val later = capacity.copy(used = capacity.used - back)
    Machine(id, later.slots, later.free, later.warm, avoided = later.trust == Trust.Avoided)

  /** Slots of a holding that will be free for others when it is given back: not those on machines that take
    * none.
    */
  def usable(holding: Holding): Int =
    holding.byMachine.iterator.collect { case (id, slots) if machines.get(id).exists(_.offers) => slots }.sum

  /** Slots a namespace holds. */
  def used(tenant: String): Int = usedBy.getOrElse(tenant, 0)

  def holds(attempt: AttemptId): Boolean = holdings.contains(attempt)

  /** Who has packs on a machine, and which. */
  def packsOn(invoker: InvokerId): Vector[(AttemptId, Int)] =
    holdings.iterator.flatMap { (attempt, holding) =>
      holding.plan.packs.iterator
        .filter(p => p.invoker == invoker && holding.held(p.pack) > 0)
        .map(p => (attempt, p.pack))
    }.toVector

  /** A machine that is new, is back, or has changed its size. */
  def up(invoker: InvokerId, slots: Int): ClusterState =
    val known = machines.getOrElse(invoker, Capacity(0, 0, up = true))
    copy(machines = machines.updated(invoker, known.copy(slots = slots.max(0), up = true)))

  /** What a machine that is up last said of itself; mostly what it said before. */
  def report(invoker: InvokerId, overloaded: Boolean, warm: Set[WarmPack]): ClusterState =
    machines.get(invoker).filter(known => known.overloaded != overloaded || known.warm != warm).fold(this) {
      known =>
        copy(machines = machines.updated(invoker, known.copy(overloaded = overloaded, warm = warm)))
    }

  /** The machine is given no more flares, or is again; what runs on it goes on. */
  def drain(invoker: InvokerId, drained: Boolean): ClusterState =
    machines.get(invoker).filter(_.drained != drained).fold(this) { known =>
      copy(machines = machines.updated(invoker, known.copy(drained = drained)))
    }

  def trust(invoker: InvokerId, trust: Trust): ClusterState =
    machines.get(invoker).filter(_.trust != trust).fold(this) { known =>
      copy(machines = machines.updated(invoker, known.copy(trust = trust)))
    }

  /** The machine offers nothing from now on; what is held on it stays held until released. */
  def down(invoker: InvokerId): ClusterState =
    machines.get(invoker).fold(this)(c => copy(machines = machines.updated(invoker, c.copy(up = false))))

  /** A machine that is down and on which nothing is held. */
  def forget(invoker: InvokerId): ClusterState =
    if machines.get(invoker).exists(c => !c.up && c.used == 0) then copy(machines = machines.removed(invoker))
    else this

  /** Takes every slot of the plan, or nothing when a machine has too few or `attempt` holds something
    * already.
    */
  def reserve(attempt: AttemptId, tenant: String, plan: Plan, walltime: Walltime): Option[ClusterState] =
    val fits = plan.demand.forall((id, wanted) => machines.get(id).exists(_.free >= wanted))
    Option.when(fits && !holdings.contains(attempt)):
      ClusterState(
        machines = plan.demand.foldLeft(machines) { case (rest, (id, wanted)) =>
          val known = rest(id)
          val trust = if known.trust == Trust.OnTrial then Trust.Avoided else known.trust
          rest.updated(id, known.copy(used = known.used + wanted, trust = trust))
        },
        holdings = holdings.updated(attempt, Holding(tenant, plan, plan.packSizes, walltime)),
        usedBy = usedBy.updated(tenant, used(tenant) + plan.size)
      )

  /** Takes note of what a flare holds that another scheduler gave it, wherever its machines are. */
  def adopt(attempt: AttemptId, tenant: String, plan: Plan, walltime: Walltime): ClusterState =
    ClusterState(
      machines = plan.demand.foldLeft(machines) { case (rest, (id, held)) =>
        val known = rest.getOrElse(id, Capacity(0, 0, up = false))
        rest.updated(id, known.copy(used = known.used + held))
      },
      holdings = holdings.updated(attempt, Holding(tenant, plan, plan.packSizes, walltime)),
      usedBy = usedBy.updated(tenant, used(tenant) + plan.size)
    )

  /** Packs whose workers have ended in part keep only the slots given with them; what is free of them goes
    * back. More than a pack holds it does not get. A holding that gave all is forgotten.
    */
  def shrink(attempt: AttemptId, left: Iterable[(Int, Int)]): ClusterState =
    holdings.get(attempt).fold(this) { holding =>
      val known = left.filter((pack, _) => holding.held.isDefinedAt(pack))
      val held = known.foldLeft(holding.held) { case (held, (pack, slots)) =>
        held.updated(pack, held(pack).min(slots.max(0)))
      }
      val rest = holding.copy(held = held)
      val freed = holding.byMachine.transform((id, slots) => slots - rest.byMachine.getOrElse(id, 0))
      val tenantLeft = used(holding.tenant) - freed.values.sum
      ClusterState(
        machines = freed.foldLeft(machines) { case (all, (id, slots)) =>
          if slots == 0 then all else all.updated(id, all(id).copy(used = all(id).used - slots))
        },
        holdings = if held.forall(_ == 0) then holdings.removed(attempt) else holdings.updated(attempt, rest),
        usedBy = if tenantLeft == 0 then usedBy.removed(holding.tenant)
        else usedBy.updated(holding.tenant, tenantLeft)
      )
    }

  /** Gives back the slots of packs that are known to be dead; those given back before, or never held, are
    * passed over.
    */
  def release(attempt: AttemptId, packs: Iterable[Int]): ClusterState = shrink(attempt, packs.map(_ -> 0))

  def releaseAll(attempt: AttemptId): ClusterState =
    holdings.get(attempt).fold(this)(holding => release(attempt, holding.held.indices))

object ClusterState:
  val empty: ClusterState = ClusterState(TreeMap.empty, Map.empty, Map.empty)
