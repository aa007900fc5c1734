package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.{DefinitionRef, Failure, InvokerId, Operation, Timestamp}
import io.circe.Codec
import scala.concurrent.duration.FiniteDuration

/** How much a machine is trusted with flares. */
enum Trust:
  case Trusted

  /** It failed some time ago: the next flare is the test. */
  case OnTrial

  /** It gets no flares while other machines could take them. */
  case Avoided

/** Why a machine is not trusted; `until` is when it is next tried, on the scheduler's clock or as the time of
  * day.
  */
final case class Suspicion[Time](reason: String, until: Time)

object Suspicion:
  given Codec.AsObject[Suspicion[Timestamp]] = Codec.AsObject.derived

/** The machines that get no flares because starts fail on them. Pure: times are passed in.
  *
  * A machine on which everything fails is always the emptiest, and would otherwise attract every flare. It is
  * avoided for a while after a failure, each time twice as long; then one flare is its trial. It is trusted
  * again once a pack has started on it, but for the longest such period the next failure still counts as a
  * further one in the row: a full disk fails some packages and not others.
  *
  * ==Whose fault==
  * A user must not be able to have machines avoided, whether by accident or on purpose. So it matters at
  * which step a start failed ([[burst.protocol.Operation]]):
  *   - ''the package could not be written, the container not created'': no code of the user has run. It is
  *     the machine's fault, and counts immediately.
  *   - ''the program did not start'': either may be at fault. It counts once the same version has started on
  *     another machine, or when the programs of two namespaces did not start here and none did in between.
  *   - ''anything else'' (no room in a cluster, no memory left for so large a pack, a package the controller
  *     does not have): not this machine's fault.
  *
  * Avoiding is a preference ([[SchedulingRound.place]]): a flare that fits nowhere else is still placed
  * there.
  *
  * Example, first 1 s, longest 8 s: a container cannot be created at 0 s: avoided until 1 s. At 2 s a flare
  * arrives and fails too: until 4 s. At 5 s one starts: trusted. At 6 s one fails: until 10 s. The next
  * failure at 20 s is a first one again: until 21 s.
  */
final case class Quarantine private (
    first: FiniteDuration,
    longest: FiniteDuration,
    records: Map[InvokerId, Quarantine.Record],
    proven: Map[DefinitionRef, Set[InvokerId]]
):
  import Quarantine.*

  def trust(invoker: InvokerId, now: MonotonicTime): Trust = records.get(invoker).flatMap(_.suspicion) match
    case None => Trust.Trusted
    case Some(suspicion) if now < suspicion.until || records(invoker).trial.isDefined => Trust.Avoided
    case Some(_) => Trust.OnTrial

  /** Machines that are not trusted. */
  def suspects: Set[InvokerId] =
    records.collect { case (id, record) if record.suspicion.isDefined => id }.toSet

  def suspicion(invoker: InvokerId): Option[Suspicion[MonotonicTime]] =
    records.get(invoker).flatMap(_.suspicion)

  /** A flare was given slots on these machines: it is the test of those that are on trial. */
  def placed(attempt: AttemptId, invokers: Iterable[InvokerId], now: MonotonicTime): Quarantine =
    invokers.filter(trust(_, now) == Trust.OnTrial).foldLeft(this) { (so, invoker) =>
      so.changed(invoker)(_.copy(trial = Some(attempt)))
    }

  /** A flare that was a trial has ended without a result. */
  def undecided(attempt: AttemptId): Quarantine =
    records.collect { case (invoker, record) if record.trial.contains(attempt) => invoker }.foldLeft(this) {
      (so, invoker) => so.changed(invoker)(_.copy(trial = None))
    }

  def heard(
      attempt: AttemptId,
      definition: DefinitionRef,
      outcomes: Iterable[StartOutcome],
      now: MonotonicTime
  ): Quarantine =
    // packs that started elsewhere explain a failure in the same report
    val (bad, good) = outcomes.partition(_.isInstanceOf[StartOutcome.NotUp])
    (good ++ bad).foldLeft(this) { (so, outcome) =>
      outcome match
        case StartOutcome.Fresh(invoker) => so.cameUp(invoker, definition, now)
        case StartOutcome.Warm(invoker) =>
          if so.records.get(invoker).exists(_.trial.contains(attempt)) then
            so.changed(invoker)(_.copy(trial = None))
          else so
        case StartOutcome.NotUp(invoker, failure) => so.notUp(invoker, definition, failure, now)
    }

  /** The machine has a new process, or is not known any more. */
  def forget(invoker: InvokerId): Quarantine = copy(records = records.removed(invoker))

  private def cameUp(invoker: InvokerId, definition: DefinitionRef, now: MonotonicTime): Quarantine =
    val known = proven.getOrElse(definition, Set.empty)
    val room = if known.isEmpty && proven.size >= Definitions then proven.removed(proven.head(0)) else proven
    val noted = copy(proven =
      // two machines are enough for any decision here
      if known.size >= 2 || known(invoker) then proven else room.updated(definition, known + invoker)
    )
    val trusted = noted.records.get(invoker).fold(noted) { record =>
      if isLongAgo(record.failed, now) then noted.forget(invoker)
      else noted.changed(invoker)(_.copy(suspicion = None, trial = None, doubtful = Set.empty))
    }
    // it did not start elsewhere: now that is known to be that machine's fault
    trusted.records.foldLeft(trusted) { case (so, (other, record)) =>
      if other != invoker && record.doubtful(definition) then so.strike(other, Doubts, now) else so
    }

  private def notUp(
      invoker: InvokerId,
      definition: DefinitionRef,
      failure: Failure,
      now: MonotonicTime
  ): Quarantine =
    blame(failure) match
      case Blame.Machine => strike(invoker, failure.message, now)
      case Blame.Nobody => undecidedAt(invoker)
      case Blame.Unknown =>
        val elsewhere = proven.get(definition).exists(_.exists(_ != invoker))
        val others = records.get(invoker).exists(_.doubtful.exists(_.namespace != definition.namespace))
        if elsewhere || others then strike(invoker, Doubts, now)
        else
          undecidedAt(invoker).changed(invoker) { record =>
            val room = if record.doubtful.size < Doubtful then record.doubtful
            else record.doubtful - record.doubtful.head
            record.copy(doubtful = room + definition)
          }

  private def isLongAgo(failed: Option[MonotonicTime], now: MonotonicTime): Boolean =
    failed.forall(_ + longest < now)

  private def undecidedAt(invoker: InvokerId): Quarantine =
    if records.contains(invoker) then changed(invoker)(_.copy(trial = None)) else this

  /** Flares that were already starting when the fault was found fail as well: that is nothing new. */
  private def strike(invoker: InvokerId, reason: String, now: MonotonicTime): Quarantine =
    changed(invoker) { record =>
      if record.suspicion.exists(now < _.until) then record
      else
        val row = if isLongAgo(record.failed, now) then 0 else record.strikes
        val times = 1L << row.min(MostDoublings)
        val pause = if first > longest / times then longest else first * times
        Record(Some(Suspicion(reason, now + pause)), row + 1, failed = Some(now))
    }

  private def changed(invoker: InvokerId)(change: Record => Record): Quarantine =
    copy(records = records.updated(invoker, change(records.getOrElse(invoker, Record()))))

object Quarantine:
  /** The record of a machine: the suspicion against it, the failures in a row, the time of the last one; the
    * flare that is its trial; and the definitions that did not start on it, which may be their own fault.
    */
  final case class Record(
      suspicion: Option[Suspicion[MonotonicTime]] = None,
      strikes: Int = 0,
      failed: Option[MonotonicTime] = None,
      trial: Option[AttemptId] = None,
      doubtful: Set[DefinitionRef] = Set.empty
  )

  enum Blame:
    case Machine, Unknown, Nobody

  /** Whose fault a failed start is. */
  def blame(failure: Failure): Blame = failure.operation match
    case Some(Operation.Fetch | Operation.Create) => Blame.Machine
    case Some(Operation.Init) => Blame.Unknown
    case _ => Blame.Nobody

  /** Shown instead of a program's own message, which belongs to another tenant. */
  private val Doubts = "programs do not come up on it"

  /** Bounds on the size of this record. */
  private val Definitions = 10000
  private val Doubtful = 100
  private val MostDoublings = 30

  def empty(first: FiniteDuration, longest: FiniteDuration): Quarantine =
    Quarantine(first, longest, Map.empty, Map.empty)
