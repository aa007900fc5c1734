package burst.controller.scheduler

import burst.controller.definition.SealedEnvironment
import burst.controller.flare.FlareRequest
import burst.controller.placement.Location
import burst.protocol.{DefinitionRef, FlareId, InvokerId, SharedContainer}
import scala.collection.immutable.TreeMap

/** A program as it is started: calls with equal ones can run in one container. */
final case class CallProgram(
    definition: DefinitionRef,
    memory: Int,
    environment: SealedEnvironment,
    egress: Boolean
)

object CallProgram:
  /** The program of a call whose action allows several calls in one container. */
  def of(request: FlareRequest): Option[CallProgram] =
    val isCall = request.size == 1 && request.group.isEmpty && request.activation.exists(!_.burst)
    Option.when(isCall && request.definition.concurrency > 1):
      CallProgram(request.definition, request.memory, request.environment, request.egress)

/** A container with calls in it. It accepts more calls once its program runs, and none once a call has left
  * it `spent`: it is removed with the last of its present calls.
  */
final case class SharedPack(
    program: CallProgram,
    location: Location,
    calls: Set[AttemptId],
    isUp: Boolean,
    isSpent: Boolean = false
):
  def hasRoom: Boolean = isUp && !isSpent && calls.size < program.definition.concurrency

/** The containers in which several calls of an action may run at the same time, and the calls that wait for
  * room in one or for a slot of their own, whichever comes first. Pure; [[ClusterState]] records which call
  * holds a slot.
  *
  * Example: an action with a concurrency of 3 and a cluster of one slot. The first call takes the slot and
  * starts the container; a second and a third wait until its program runs, and then join it. A fourth waits
  * until one of them ends. When the first ends, its slot is held by one of the others ([[successor]]).
  */
final case class SharedPacks private (
    packs: Map[SharedContainer, SharedPack],
    byProgram: Map[CallProgram, Set[SharedContainer]],
    byCall: Map[AttemptId, SharedContainer],
    waiting: Map[CallProgram, TreeMap[Long, Waiting]],
    programs: Map[FlareId, (CallProgram, Long)]
):
  /** Finds the container for one more call of this program: the one with most calls, so that containers with
    * few become empty and release their slots.
    */
  def findContainer(program: CallProgram)(takes: InvokerId => Boolean): Option[(SharedContainer, Location)] =
    byProgram
      .getOrElse(program, Set.empty)
      .iterator
      .map(container => container -> packs(container))
      .filter((_, pack) => pack.hasRoom && takes(pack.location.invoker))
      .maxByOption((_, pack) => pack.calls.size)
      .map((container, pack) => (container, pack.location))

  def contains(container: SharedContainer): Boolean = packs.contains(container)

  /** A call has the slot of a container that others may join. */
  def opened(
      attempt: AttemptId,
      container: SharedContainer,
      program: CallProgram,
      location: Location
  ): SharedPacks =
    copy(
      packs = packs.updated(container, SharedPack(program, location, Set(attempt), isUp = false)),
      byProgram = byProgram.updated(program, byProgram.getOrElse(program, Set.empty) + container),
      byCall = byCall.updated(attempt, container)
    )

  def joined(attempt: AttemptId, container: SharedContainer): SharedPacks =
    packs.get(container).fold(this): pack =>
      copy(
        packs = packs.updated(container, pack.copy(calls = pack.calls + attempt)),
        byCall = byCall.updated(attempt, container)
      )

  /** The program of the container with this call runs. */
  def up(attempt: AttemptId): SharedPacks = byCall.get(attempt).fold(this): container =>
    val pack = packs(container)
    if pack.isUp then this else copy(packs = packs.updated(container, pack.copy(isUp = true)))

  /** A call has not ended well in its container. */
  def spent(attempt: AttemptId): SharedPacks = byCall.get(attempt).fold(this): container =>
    copy(packs = packs.updated(container, packs(container).copy(isSpent = true)))

  /** A machine is lost: no other call joins its containers. The actors of the calls there deal with the loss.
    */
  def lost(invoker: InvokerId): SharedPacks =
    if packs.isEmpty then this
    else
      copy(packs = packs.transform: (_, pack) =>
        if pack.location.invoker == invoker then pack.copy(isUp = false) else pack)

  /** A call that stays in the container when this one leaves it. */
  def successor(attempt: AttemptId): Option[AttemptId] =
    byCall.get(attempt).flatMap(packs.get).flatMap(_.calls.find(_ != attempt))

  def left(attempt: AttemptId): SharedPacks = byCall.get(attempt).fold(this): container =>
    val pack = packs(container)
    val calls = pack.calls - attempt
    val rest = copy(byCall = byCall.removed(attempt))
    if calls.nonEmpty then rest.copy(packs = packs.updated(container, pack.copy(calls = calls)))
    else
      val others = byProgram.getOrElse(pack.program, Set.empty) - container
      rest.copy(
        packs = packs.removed(container),
        byProgram =
          if others.isEmpty then byProgram.removed(pack.program) else byProgram.updated(pack.program, others)
      )

  // ---- Who waits -----------------------------------------------------------------------------------------

  /** Records a flare that enters the queue with this number, if it is such a call. */
  def waits(flare: Waiting, number: Long): SharedPacks = CallProgram.of(flare.request).fold(this): program =>
    val rest = waitsNoMore(flare.id)
    val there = rest.waiting.getOrElse(program, TreeMap.empty[Long, Waiting])
    rest.copy(
      waiting = rest.waiting.updated(program, there.updated(number, flare)),
      programs = rest.programs.updated(flare.id, (program, number))
    )

  /** A flare has left the queue. */
  def waitsNoMore(id: FlareId): SharedPacks = programs.get(id).fold(this): (program, number) =>
    val rest = waiting(program).removed(number)
    copy(
      waiting = if rest.isEmpty then waiting.removed(program) else waiting.updated(program, rest),
      programs = programs.removed(id)
    )

  /** The first waiting call of each program that has a container. */
  def candidates: Iterator[(CallProgram, Waiting)] =
    waiting.iterator.collect:
      case (program, calls) if byProgram.contains(program) => (program, calls.head._2)

object SharedPacks:
  val empty: SharedPacks = SharedPacks(Map.empty, Map.empty, Map.empty, Map.empty, Map.empty)
