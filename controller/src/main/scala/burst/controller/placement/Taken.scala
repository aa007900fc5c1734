package burst.controller.placement

/** What packs hold on a location: slots, MiB of memory for their workers, and their number. */
final case class Taken(slots: Int, memory: Long, packs: Int):
  def +(other: Taken): Taken =
    Taken(slots = slots + other.slots, memory = memory + other.memory, packs = packs + other.packs)
  def -(other: Taken): Taken =
    Taken(slots = slots - other.slots, memory = memory - other.memory, packs = packs - other.packs)

  /** All the memory, if each pack takes `packMemory` in addition to its workers'. */
  def all(packMemory: Int): Long = memory + packs.toLong * packMemory

object Taken:
  val Nothing: Taken = Taken(slots = 0, memory = 0, packs = 0)
