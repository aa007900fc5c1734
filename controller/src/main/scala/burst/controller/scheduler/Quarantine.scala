package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.{DefinitionRef, Failure, InvokerId, Operation, Timestamp}
import io.circe.Codec
import scala.concurrent.duration.FiniteDuration

/** How far a machine is trusted with flares. */
enum Trust:
  case Trusted

  /** It failed, and that is some time ago: the next flare finds out. */
  case OnTrial

  /** Nothing goes there as long as others could take it. */
  case Avoided

/** Why a machine is not trusted; `until` is when it is next tried, by the scheduler's clock or by the time of
  * day.
  */
final case class Suspicion[Time](reason: String, until: Time)

object Suspicion:
  given Codec.AsObject[Suspicion[Timestamp]] = Codec.AsObject.derived

/** Which machines are kept from flares because starts fail on them. Pure: times are handed in.
  *
  * A machine that fails whatever it is given is always the emptiest, and without this draws every flare. It
  * is avoided for a while after a failure, each time twice as long; then one flare is its trial. It is
  * trusted again once a pack has come up on it, but for as long as the longest while the next failure goes on
  * with the row: a full disk fails some packages and not others.
  *
  * ==Whose fault==
  * A user must not be able to have machines avoided, be it by accident or not. So it counts what a failed
  * start was at ([[burst.protocol.Operation]]):
  *   - ''the package could not be written, the container not be made'': nothing of the user's has run. It is
  *     the machine's, and counts at once.
  *   - ''the program did not come up'': it may be either's. It counts once the same version has come up on
  *     another machine, or when the programs of two namespaces did not come up here and none did between.
  *   - ''anything else'' (no room in a cluster, no memory left for so large a pack, a package the controller
  *     does not have): nobody's here.
  *
  * Avoiding is a preference ([[SchedulingRound.place]]): a flare that fits nowhere else is placed there all
  * the same.
  *
  * Example, first 1 s, longest 8 s: a container cannot be made at 0 s: avoided until 1 s. At 2 s a flare
  * comes, fails too: until 4 s. At 5 s one comes up: trusted. At 6 s one fails: until 10 s. The next failure
  * at 20 s is a first one again: until 21 s.
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

  /** A flare was given slots of these machines: of those on trial it is the trial. */
  def placed(attempt: AttemptId, invokers: Iterable[InvokerId], now: MonotonicTime): Quarantine =
    invokers.filter(trust(_, now) == Trust.OnTrial).foldLeft(this) { (so, invoker) =>
      so.changed(invoker)(_.copy(trial = Some(attempt)))
    }

  /** A flare that was a trial is gone, and nothing came out of it. */
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
    // what came up elsewhere explains a failure that is told with it
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

  /** A new process, or a machine nobody knows any more. */
  def forget(invoker: InvokerId): Quarantine = copy(records = records.removed(invoker))

  private def cameUp(invoker: InvokerId, definition: DefinitionRef, now: MonotonicTime): Quarantine =
    val known = proven.getOrElse(definition, Set.empty)
    val room = if known.isEmpty && proven.size >= Definitions then proven.removed(proven.head(0)) else proven
    val noted = copy(proven =
      // two machines are as many as any question needs
      if known.size >= 2 || known(invoker) then proven else room.updated(definition, known + invoker)
    )
    val trusted = noted.records.get(invoker).fold(noted) { record =>
      if isLongAgo(record.failed, now) then noted.forget(invoker)
      else noted.changed(invoker)(_.copy(suspicion = None, trial = None, doubtful = Set.empty))
    }
    // elsewhere it did not come up: now that is known to be the machine's fault
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

  /** Flares that were under way when it was found out fail as well: that tells nothing new. */
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
  /** Of a machine: what is held against it, the failures in a row, when the last one was; which flare is its
    * trial; and the definitions that did not come up on it, which may be their own fault.
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

  /** What is told where a program's own words would be: they are another tenant's. */
  private val Doubts = "programs do not come up on it"

  /** Bounds of what this may grow to. */
  private val Definitions = 10000
  private val Doubtful = 100
  private val MostDoublings = 30

  def empty(first: FiniteDuration, longest: FiniteDuration): Quarantine =
    Quarantine(first, longest, Map.empty, Map.empty)
