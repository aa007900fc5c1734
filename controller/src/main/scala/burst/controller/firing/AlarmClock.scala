package burst.controller.firing

import burst.controller.alarm.*
import burst.controller.limits.MinuteCounts
import burst.controller.store.*
import burst.node.traces.{EndedSpan, SpanSink}
import burst.protocol.{Origin, Timestamp}
import io.circe.JsonObject
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

/** Fires triggers whose alarms are due. Every controller looks for them, and the database decides which one
  * fires: the one whose change of the alarm's row succeeds. If that controller ends before it has fired, this
  * time is left out; no time is fired twice. As no other controller makes up for it, it retries if the store
  * fails then or during the change.
  *
  * Times that passed while no controller was running are made up for by a single firing, as soon as one runs.
  *
  * No controller looks while there is no scheduler, or no invoker, to run what is fired: due alarms stay due
  * until there is, and are not lost if this controller ends in the meantime.
  *
  * @param canRun
  *   whether what is fired could run; completes once there is a scheduler
  * @param fires
  *   how often each namespace may fire per minute
  * @param storeRetry
  *   how often a failing store is retried once an alarm is claimed
  */
final class AlarmClock(
    alarms: AlarmStore,
    triggers: TriggerStore,
    rules: RuleStore,
    namespaces: NamespaceStore,
    firing: Firing,
    fires: MinuteCounts,
    blocking: Blocking,
    interval: FiniteDuration,
    storeRetry: StoreRetry,
    now: () => Instant = () => Instant.now(),
    canRun: () => Future[Boolean] = () => Future.successful(true),
    spans: SpanSink = SpanSink.Off
)(using system: ActorSystem[?]):
  import AlarmClock.*
  import system.executionContext

  /** How many alarms are being fired, by namespace. No entry is zero. */
  private val underWay = ConcurrentHashMap[String, Int]()

  /** The alarms for which it is not yet known whether this controller has claimed them. */
  private val inDoubt = ConcurrentHashMap.newKeySet[(String, String)]()
  @volatile private var stopping = false
  private val retry = storeRetry.whilst(() => !stopping)

  /** Looks for due alarms and begins to fire them; returns how many. If a namespace has reached its share, it
    * looks once more for those of others, which may have become due later.
    */
  def round(): Int =
    val moment = now().truncatedTo(ChronoUnit.MICROS)
    // Counts those that end in the meantime, too: otherwise a namespace whose alarms are fired quickly would
    // take the whole round.
    var shares = underWay.asScala.toMap.withDefaultValue(0)
    val atFirst = shares.values.sum
    def full: Set[String] = shares.keySet.filter(shares(_) >= MostOfNamespace)
    @tailrec def poll(): Int =
      val begun = shares.values.sum - atFirst
      val most = (MostUnderWay - atFirst).min(Batch) - begun
      val passedOver = full
      if most <= 0 || stopping then begun
      else
        alarms
          .due(moment, most, passedOver)
          .iterator
          .takeWhile(_ => !stopping)
          .filterNot(alarm => inDoubt.contains(key(alarm)))
          .filter(alarm => shares(alarm.namespace) < MostOfNamespace)
          .foreach: alarm =>
            if ring(alarm, moment) then
              shares = shares.updated(alarm.namespace, shares(alarm.namespace) + 1)
        if full == passedOver then shares.values.sum - atFirst else poll()
    poll()

  private def enter(namespace: String): Unit =
    val _ = underWay.merge(namespace, 1, _ + _)

  private def leave(namespace: String): Unit =
    val _ = underWay.merge(namespace, -1, _ + _)
    val _ = underWay.remove(namespace, 0)

  /** Claims an alarm and fires it; returns whether this controller fires, as far as that is known
    * immediately.
    */
  private def ring(alarm: Alarm, moment: Instant): Boolean =
    namespaces.find(alarm.namespace).filter(_.revoked.isEmpty) match
      case None =>
        alarms.replace(alarm, alarm.stopped("its namespace was revoked", moment))
        false
      case Some(namespace) =>
        val caller = namespace.identity
        fires.take(caller.namespace, caller.limits.firesPerMinute) match
          case Left(used) =>
            // Postponed, so that it is not in the way of others' alarms.
            alarms.replace(alarm, alarm.copy(due = Some(moment.plusNanos(used.retryAfter.toNanos))))
            false
          case Right(()) =>
            val spent = alarm.fired(moment)
            Try(alarms.replace(alarm, spent)) match
              case Success(true) =>
                fire(caller, spent)
                true
              case Success(false) =>
                fires.giveBack(caller.namespace)
                false
              case Failure(cause) =>
                // Other alarms are still due in the next round, and the store may have recovered.
                if cause.isInstanceOf[StoreException] then settle(caller, alarm, spent)
                throw cause

  /** Fires once it is certain that this controller has claimed the alarm. Nothing waits for this. */
  private def settle(caller: Identity, alarm: Alarm, spent: Alarm): Unit =
    enter(alarm.namespace)
    inDoubt.add(key(alarm))
    retry("claiming an alarm")(() => blocking(claims(alarm, spent))).onComplete: outcome =>
      outcome match
        case Success(true) => fire(caller, spent)
        case Success(false) => fires.giveBack(caller.namespace)
        case Failure(cause) =>
          fires.giveBack(caller.namespace)
          log.error("whether {}/{} is to be fired is not known", alarm.namespace, alarm.trigger, cause)
      inDoubt.remove(key(alarm))
      leave(alarm.namespace)

  /** Whether a claim succeeds, or had succeeded although the database reported a failure. It repeats the
    * change first: if the first write is still in progress, the second waits for its lock on the row. If the
    * row has changed since, an alarm without a next time has the microsecond of the round that changed it,
    * which no two controllers share, as each polls by its own clock, twice a second. An alarm with a next
    * time looks the same whichever controller changed it; that time is left out rather than fired twice.
    */
  private def claims(alarm: Alarm, spent: Alarm): Boolean =
    alarms.replace(alarm, spent) || spent.due.isEmpty && isClaimCurrent(spent)

  /** Whether the row still is as this controller left it. */
  private def isClaimCurrent(spent: Alarm): Boolean =
    alarms
      .find(spent.namespace, spent.trigger)
      .exists(there => there.due == spent.due && there.changed == spent.changed)

  private def fire(caller: Identity, spent: Alarm): Unit =
    import spent.{namespace, payload, trigger as name}
    enter(namespace)
    val began = Timestamp.now()
    val own = origin()
    val fired =
      for
        found <- retry("reading the trigger of an alarm")(() => blocking(triggers.find(namespace, name)))
        // None if it was just deleted.
        _ <- found.fold(Future.unit)(firing.fire(caller, _, payload, JsonObject.empty, own, retry))
        _ <- retry("deleting a trigger that has fired")(() => blocking(cleanUp(spent)))
      yield ()
    fired
      .recover:
        case NonFatal(cause) => log.error("the alarm of the trigger {}/{} failed", namespace, name, cause)
      .onComplete: _ =>
        leave(namespace)
        own.trace.foreach(context => spans.ended(EndedSpan(context, None, "alarm", began, Timestamp.now())))

  /** Deletes the trigger after its only alarm, if it should be; an alarm that was set again since then stays.
    * The trigger is deleted last: a retry needs it to find its rules.
    */
  private def cleanUp(spent: Alarm): Unit =
    import spent.{namespace, trigger as name}
    spent.schedule.times match
      case Times.Once(_, after) if after != AfterOnce.Keep && isClaimCurrent(spent) =>
        if after == AfterOnce.DeleteRules then
          val rulesThere = triggers.find(namespace, name).flatMap(_.rules).getOrElse(Vector.empty)
          rulesThere.foreach(rule => rules.delete(namespace, rule.name))
        val _ = triggers.delete(namespace, name)
      case _ => ()

  /** No request caused it, so it starts a trace of its own. */
  private def origin(): Origin = Origin(UUID.randomUUID.toString.replace("-", ""), spans.begin(None))

  /** Looks for due alarms from now on. The returned function ends that; its future completes once no round is
    * running any more.
    */
  def start(): () => Future[Unit] =
    // Alarms that could not be fired are still due in the next round.
    val stop = Rounds.start(interval, blocking, log, "looking for alarms failed", canRun):
      while round() >= MostOfNamespace && !stopping do ()
    () =>
      stopping = true
      stop()

object AlarmClock:
  /** Alarms read at a time, and triggers that one controller fires at the same time. */
  private val Batch = 100
  private val MostUnderWay = 200

  /** One namespace may have a quarter of those, so that its many alarms do not delay others'. */
  private val MostOfNamespace = MostUnderWay / 4

  private def key(alarm: Alarm): (String, String) = (alarm.namespace, alarm.trigger)

  private val log = LoggerFactory.getLogger(classOf[AlarmClock])
