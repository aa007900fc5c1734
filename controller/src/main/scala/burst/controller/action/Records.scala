package burst.controller.action

import burst.controller.flare.Submission
import burst.controller.store.{ActivationStore, Blocking, Rounds}
import burst.protocol.FlareId
import java.util.concurrent.ConcurrentHashMap
import org.apache.pekko.actor.typed.{ActorSystem, Scheduler}
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** Records of what is no flare, and goes on in this controller. Each is stored before it begins, with a lease
  * that is renewed here: what a controller leaves that dies is ended by another, or by the next.
  *
  * @param lease
  *   how long nobody need hear of a controller
  */
final class Records(
    store: ActivationStore,
    blocking: Blocking,
    lease: FiniteDuration,
    nowMicros: () => Long = () => System.currentTimeMillis() * 1000
):
  import Records.*

  private val open = ConcurrentHashMap[FlareId, Ending]()

  /** When leases were last renewed here, and since when that has gone well. */
  private var renewed = Option.empty[Long]
  private var wellSince = 0L

  /** Stores it as it is to read should nobody end it. */
  def begin(head: ActivationHead, path: String, submission: Option[Submission]): Future[Unit] = blocking:
    val record = RecordFields.of(head, path).copy(submission = submission)
    store.open(record, lease)
    open.put(head.id, Ending.Awaited)

  /** How it ended; tried again until it is stored. */
  def end(record: ActivationRecord, path: String): Future[Unit] = blocking:
    val known = Option(open.replace(record.id, Ending.Known(record, path)))
    if known.nonEmpty then close(record, path)

  /** What has ended as it is stored. */
  def add(record: ActivationRecord, path: String): Future[Unit] = blocking(write(record, path))

  private def close(record: ActivationRecord, path: String): Unit =
    try
      write(record, path)
      val _ = open.remove(record.id)
    catch case NonFatal(cause) => log.error(s"activation ${record.id.value} could not be ended yet", cause)

  private def write(record: ActivationRecord, path: String): Unit =
    val ended = record.head.end.fold(nowMicros())(_ * 1000)
    store.close(RecordFields.of(record.head, path), ended, record.result, record.logs)

  /** One round: renews what goes on here, ends what could not be, and ends what others left. Where the
    * database was away others are given the time to renew theirs first, as they live; and where this
    * controller has just begun, as nothing is known then of before.
    */
  def round(): Unit =
    val now = nowMicros()
    if !renewed.exists(last => now - last <= lease.toMicros / 2) then wellSince = now
    store.renew(open.keySet.asScala.toVector, lease)
    // While the database takes its time over them the rest is to be renewed.
    def hasTime = nowMicros() - now < lease.toMicros / 4
    open.asScala.toVector.foreach:
      case (_, Ending.Known(record, path)) if hasTime => close(record, path)
      case _ => ()
    // The database is asked in any case: where it fails there is no saying that it was well.
    val ended = store.endAbandoned(if now - wellSince < lease.toMicros then LeftFor else Duration.Zero, now)
    renewed = Some(now)
    if ended > 0 then log.warn(s"$ended sequences were going on in a controller that ended; they failed")

  /** Rounds, one at a time, at once and several within a lease; what it returns ends them, and what goes on
    * here, as it does with this controller. A store that is away then does not keep that from its end.
    */
  def start()(using system: ActorSystem[?]): () => Future[Unit] =
    import system.executionContext
    val stop = Rounds.start(lease / 4, blocking, log, "records of sequences could not be renewed")(round())
    () =>
      val left = stop().flatMap(_ => blocking(leave())).recover:
        case NonFatal(cause) => log.warn("what sequences came to could not be recorded at the end", cause)
      Compositions.within(LeaveWithin)(left)(using system.scheduler).map(_ => ())

  private def leave(): Unit =
    val (known, left) = open.asScala.toVector.partitionMap:
      case (_, Ending.Known(record, path)) => Left((record, path))
      case (id, Ending.Awaited) => Right(id)
    if left.nonEmpty then
      log.warn(s"${left.length} sequences were going on in this controller, which ends; they failed")
      // What they come to is told otherwise from now on.
      left.foreach(open.remove)
      store.renew(left, LeftFor * -2)
      val _ = store.endAbandoned(LeftFor, nowMicros())
    known.foreach(close)

  /** Completes when nothing goes on of what does now, after `bound` at the latest. */
  def idle(bound: FiniteDuration)(using Scheduler, ExecutionContext): Future[Unit] =
    gone(open.asScala.collect { case (id, Ending.Awaited) => id }.toVector, bound)

  private def gone(ids: Vector[FlareId], bound: FiniteDuration)(using
      Scheduler,
      ExecutionContext
  ): Future[Unit] =
    val left = ids.filter(id => open.get(id) == Ending.Awaited)
    if left.isEmpty || bound <= Duration.Zero then Future.unit
    else Pause.before(IdlePause)(gone(left, bound - IdlePause))

object Records:
  /** For so long nothing's lease is over but of what its controller has left. */
  private val LeftFor: FiniteDuration = 36500.days
  private val IdlePause = 100.millis

  /** Of the time that a controller has to stop. */
  private val LeaveWithin = 2.seconds
  private val log = LoggerFactory.getLogger(classOf[Records])

  private enum Ending:
    case Awaited
    case Known(record: ActivationRecord, path: String)
