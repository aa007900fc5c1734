package burst.controller.action

import burst.controller.flare.Submission
import burst.controller.store.{
  ActivationStore,
  AlreadySubmitted,
  Blocking,
  Rounds,
  StoreException,
  StoreRetry
}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, Timestamp}
import java.util.concurrent.ConcurrentHashMap
import org.apache.pekko.actor.typed.{ActorSystem, Scheduler}
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.jdk.CollectionConverters.*
import scala.util.Failure
import scala.util.control.NonFatal

/** Records of activities that are not flares and run in this controller. Each is stored before it begins,
  * with a lease that is renewed here: if the controller dies, another one, or the next, ends its records.
  *
  * @param recordLease
  *   how long a controller may be silent before its records count as abandoned
  * @param retry
  *   for parts: their maker receives nothing before they are stored, and nobody else would repeat the request
  */
final class Records(
    store: ActivationStore,
    blocking: Blocking,
    recordLease: FiniteDuration,
    retry: StoreRetry,
    clock: () => Timestamp = () => Timestamp.now(),
    elapsed: () => MonotonicTime = () => MonotonicTime.now()
)(using ExecutionContext, Scheduler):
  import Records.*

  private val open = ConcurrentHashMap[FlareId, Ending]()

  /** Records whose insert failed, but which may have been stored nevertheless (docs/adr/0098). */
  private val inDoubt = ConcurrentHashMap[FlareId, InDoubt]()

  /** When leases were last renewed here, and since when all renewals have succeeded. */
  private var renewed = Option.empty[MonotonicTime]
  private var wellSince = MonotonicTime.Zero

  /** Stores a record with the content it is to have if nobody ends it, and begins its activity. If the store
    * fails, the future fails; if the record was stored nevertheless, the activity runs later, provided that
    * it has a key by which it can be found.
    *
    * @param isPart
    *   whether it is a part of a sequence
    */
  def begin[A](head: ActivationHead, path: String, submission: Option[Submission], isPart: Boolean = false)(
      run: => A
  ): Future[A] =
    val record = RecordFields.of(head, path).copy(submission = submission)
    def stored() = blocking:
      store.open(record, recordLease)
      val _ = open.put(head.id, Ending.Awaited)
    (if isPart then retry("beginning a sequence's part")(stored) else stored())
      .andThen:
        case Failure(_: AlreadySubmitted) => ()
        case Failure(_: StoreException) => lookFor(head, path, submission.map(_ => () => run))
      .map(_ => run)

  private def lookFor(head: ActivationHead, path: String, run: Option[() => Any]): Unit =
    val heldNow = inDoubt.values.asScala.count(_.run.isDefined)
    if inDoubt.size < MostInDoubt then
      val _ =
        inDoubt.put(head.id, InDoubt(head, path, run.filter(_ => heldNow < MostHeld), ArrivedWithin.fromNow))

  /** Resolves inserts in doubt that turn out to be stored: the activity runs, or is recorded as not run. */
  private def settle(): Unit =
    val queried = inDoubt.asScala.toVector
    val late = queried.filter(_._2.until.isOverdue()).map(_._1)
    if queried.nonEmpty then
      val stored = store.areOpen(queried.map(_._1))
      queried.filter((id, _) => stored(id)).foreach: (id, one) =>
        open.put(id, one.run.fold(one.failed(ActivationHead.inMillis(clock())))(_ => Ending.Awaited))
        inDoubt.remove(id)
        one.run.foreach(run => Future(run()))
      late.foreach(inDoubt.remove)

  /** Records how an activity ended; retried until it is stored. */
  def end(record: ActivationRecord, path: String): Future[Unit] = blocking:
    val known = Option(open.replace(record.id, Ending.Known(record, path)))
    if known.nonEmpty then close(record, path)

  /** Stores a record that has already ended. */
  def add(record: ActivationRecord, path: String): Future[Unit] = blocking(write(record, path))

  private def close(record: ActivationRecord, path: String): Unit =
    try
      write(record, path)
      val _ = open.remove(record.id)
    catch case NonFatal(cause) => log.error(s"activation ${record.id.value} could not be ended yet", cause)

  private def write(record: ActivationRecord, path: String): Unit =
    val ended = record.head.end.getOrElse(clock())
    store.close(RecordFields.of(record.head, path), ended, record.result, record.logs)

  /** Runs one round: renews the leases of this controller's records, stores ends that could not be stored
    * before, and ends what other controllers abandoned. After the database was unavailable, and after this
    * controller's start, the others first get time to renew their leases.
    */
  def round(): Unit =
    val now = elapsed()
    settle()
    if !renewed.exists(now <= _ + recordLease / 2) then wellSince = now
    store.renew(open.keySet.asScala.toVector, recordLease)
    // If the database is slow over these, the leases have to be renewed first.
    def hasTime = elapsed() < now + recordLease / 4
    open.asScala.toVector.foreach:
      case (_, Ending.Known(record, path)) if hasTime => close(record, path)
      case _ => ()
    // Queries the database in any case: only then is it known to have worked.
    val lapsed = if now < wellSince + recordLease then AbandonedFor else Duration.Zero
    val ended = store.endAbandoned(lapsed, clock())
    renewed = Some(now)
    if ended > 0 then log.warn(s"$ended sequences were going on in a controller that ended; they failed")

  /** Runs rounds, one at a time, immediately and several times per lease. The returned function stops them,
    * and ends the records of this controller's activities, which end with it. It completes even if the store
    * is unavailable then.
    */
  def start()(using system: ActorSystem[?]): () => Future[Unit] =
    val stop =
      Rounds.start(recordLease / 4, blocking, log, "records of sequences could not be renewed")(round())
    () =>
      val finished = stop().flatMap(_ => blocking(leave())).recover:
        case NonFatal(cause) => log.warn("what sequences came to could not be recorded at the end", cause)
      Compositions.within(LeaveWithin)(finished).map(_ => ())

  private def leave(): Unit =
    val (known, awaited) = open.asScala.toVector.partitionMap:
      case (_, Ending.Known(record, path)) => Left((record, path))
      case (id, Ending.Awaited) => Right(id)
    if awaited.nonEmpty then
      log.warn(s"${awaited.length} sequences were going on in this controller, which ends; they failed")
      // From now on their own ends are not recorded: they are recorded as abandoned below.
      awaited.foreach(open.remove)
      store.renew(awaited, AbandonedFor * -2)
      val _ = store.endAbandoned(AbandonedFor, clock())
    known.foreach(close)

  /** Completes when all activities that run now have ended, or after `bound`. */
  def idle(bound: FiniteDuration): Future[Unit] =
    awaitEnd(open.asScala.collect { case (id, Ending.Awaited) => id }.toVector, bound)

  private def awaitEnd(ids: Vector[FlareId], bound: FiniteDuration): Future[Unit] =
    val running = ids.filter(id => open.get(id) == Ending.Awaited)
    if running.isEmpty || bound <= Duration.Zero then Future.unit
    else Pause.before(IdlePause)(awaitEnd(running, bound - IdlePause))

object Records:
  /** No lease lapsed this long ago, except those that a controller gave up when it ended. */
  private val AbandonedFor: FiniteDuration = 36500.days

  /** Longer than a statement may take in the database (`burst.store.postgresql.statement-timeout`, 30 s). */
  private val ArrivedWithin: FiniteDuration = 3.minutes
  private val MostInDoubt = 1000

  /** Of these, how many may still run: they keep their payloads. */
  private val MostHeld = 64
  private val IdlePause = 100.millis

  /** The part of a controller's shutdown time that this may take. */
  private val LeaveWithin = 2.seconds
  private val log = LoggerFactory.getLogger(classOf[Records])

  /** @param run
    *   begins the activity, unless nobody would notice it
    */
  private final case class InDoubt(
      head: ActivationHead,
      path: String,
      run: Option[() => Any],
      until: Deadline
  ):
    def failed(now: Timestamp): Ending =
      val ended =
        head.copy(end = Some(now), duration = Some(Duration.Zero), status = ActivationStatus.InternalError)
      Ending.Known(
        ActivationRecord(ended, RunResult.error(ActivationStatus.InternalError, NotRun).result),
        path
      )

  private val NotRun = "The database failed as this was stored, and it did not run; invoke it again."

  private enum Ending:
    case Awaited
    case Known(record: ActivationRecord, path: String)
