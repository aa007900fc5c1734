package burst.controller.placement

import burst.protocol.{InvokerId, WarmPack}

/** Why there is no plan. */
enum NoPlacement:
  /** Not even the empty cluster could hold it: in units of `unit` it holds at most `usable` workers, with
    * `total` slots; no machine has more than `largest` slots.
    */
  case Never(total: Int, usable: Int, largest: Int, unit: Int)

  /** It fits the cluster, but not the slots that are free now. */
  case NotNow(free: Int)

/** The memory that a machine is known to have for packs, in MiB; each pack takes `pack` in addition to its
  * workers' memory.
  */
final case class MachineMemory(total: Long, free: Long, pack: Int):
  /** How many workers with this many MiB it holds, even if each were a pack of its own. */
  def workers(of: Long, memory: Int): Int = (of / (memory + pack).max(1)).max(0L).min(Int.MaxValue).toInt

/** A machine as policies see it, or one `node` of an invoker that has several. `free` never exceeds `slots`.
  * `packs` are its warm ones, `warm` is whether one of them is for the flare being placed; an `avoided`
  * machine is only for flares that fit nowhere else.
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

  /** The machine with its slots as limited by memory, for workers with this many MiB. */
  def holding(perWorker: Int): Machine = memory.fold(this): m =>
    copy(slots = slots.min(m.workers(m.total, perWorker)), free = free.min(m.workers(m.free, perWorker)))

  /** The machine once `taken` is in use. */
  def less(taken: Taken): Machine =
    copy(free = free - taken.slots, memory = memory.map(m => m.copy(free = m.free - taken.all(m.pack))))

  /** The machine with no more free than in `other`. */
  def within(other: Machine): Machine = copy(
    free = free.min(other.free),
    memory = memory.map(m => m.copy(free = other.memory.fold(m.free)(_.free.min(m.free))))
  )

  /** The machine with nothing running on it. */
  def emptied: Machine = copy(free = slots, memory = memory.map(m => m.copy(free = m.total)))

/** The machines that may be used now, without those that are down. */
final case class ClusterView(machines: Vector[Machine]):
  lazy val totalSlots: Int = machines.iterator.map(_.slots).sum
  lazy val freeSlots: Int = machines.iterator.map(_.free).sum
  lazy val largestMachine: Int = machines.iterator.map(_.slots).maxOption.getOrElse(0)

  /** The same machines, marked as warm if they have a pack for the flare. */
  def warmFor(wanted: WarmPack): ClusterView =
    def serves(machine: Machine) = machine.packs.nonEmpty && machine.packs(wanted.copy(node = machine.node))
    if machines.exists(serves) then
      ClusterView(machines.map(m => if serves(m) then m.copy(warm = true) else m))
    else this

  /** The same machines, for workers with this many MiB. */
  def holding(perWorker: Int): ClusterView =
    if machines.exists(_.memory.isDefined) then ClusterView(machines.map(_.holding(perWorker))) else this

  /** The machines that are not avoided. */
  lazy val trusted: ClusterView =
    if machines.exists(_.avoided) then ClusterView(machines.filterNot(_.avoided)) else this

  def without(invoker: InvokerId): ClusterView = ClusterView(machines.filterNot(_.id == invoker))

  /** The same machines with nothing running on them: the basis for "never". */
  lazy val emptied: ClusterView = ClusterView(machines.map(_.emptied))
