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

/** Fires triggers whose alarms are due. Every controller looks, and the database says which of them fires:
  * the one whose change of the alarm's row it takes. One that ends between that and the firing leaves that
  * time out; no time is fired twice. As nobody else makes up for it, a store that fails then, or as the row
  * is changed, is tried again.
  *
  * Times that passed while no controller ran are made up for by one firing, as soon as one does.
  *
  * Nobody looks while there is no scheduler, or no invoker, to run what is fired: what is due stays so until
  * there is, and is not left out should this controller end meanwhile.
  *
  * @param canRun
  *   whether what is fired could run; answers once there is a scheduler
  * @param fires
  *   of each namespace in a minute
  * @param storeRetry
  *   with a store that fails once an alarm is claimed
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

  /** How many are fired, by namespace. None is zero. */
  private val underWay = ConcurrentHashMap[String, Int]()

  /** Of which it is not known yet whether this controller has claimed them. */
  private val inDoubt = ConcurrentHashMap.newKeySet[(String, String)]()
  @volatile private var stopping = false
  private val retry = storeRetry.whilst(() => !stopping)

  /** Looks, and begins to fire what is due: says how many. Where a namespace has its share, it looks once
    * more for those of others, which may have been due for less long.
    */
  def round(): Int =
    val moment = now().truncatedTo(ChronoUnit.MICROS)
    // With those that end meanwhile, or a namespace whose alarms are soon fired would have all of a round.
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

  /** Whether it is this controller that fires, as far as that is known at once. */
  private def ring(alarm: Alarm, moment: Instant): Boolean =
    namespaces.find(alarm.namespace).filter(_.revoked.isEmpty) match
      case None =>
        alarms.replace(alarm, alarm.stopped("its namespace was revoked", moment))
        false
      case Some(namespace) =>
        val caller = namespace.identity
        fires.take(caller.namespace, caller.limits.firesPerMinute) match
          case Left(used) =>
            // Out of the way of others' alarms until then.
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
                // Others are due still when it looks the next time, and the store may be well again.
                if cause.isInstanceOf[StoreException] then settle(caller, alarm, spent)
                throw cause

  /** Fires once it is known that the claim is this controller's. Nobody waits for it meanwhile. */
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

  /** Whether a claim succeeds, or had succeeded although the database reported a failure. The change is made
    * again first: if the first write is still on its way, this one waits for its lock on the row. If the row
    * has changed by then, an alarm without a next time has the microsecond of the round that changed it,
    * which no two controllers share, as each polls by its own clock, twice a second. One with a next time is
    * the same whichever controller changed it; that time is left out rather than fired twice.
    */
  private def claims(alarm: Alarm, spent: Alarm): Boolean =
    alarms.replace(alarm, spent) || spent.due.isEmpty && isClaimCurrent(spent)

  /** Whether the row is as this controller has left it. */
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
        // Nothing when it was deleted just now.
        _ <- found.fold(Future.unit)(firing.fire(caller, _, payload, JsonObject.empty, own, retry))
        _ <- retry("deleting a trigger that has fired")(() => blocking(cleanUp(spent)))
      yield ()
    fired
      .recover:
        case NonFatal(cause) => log.error("the alarm of the trigger {}/{} failed", namespace, name, cause)
      .onComplete: _ =>
        leave(namespace)
        own.trace.foreach(context => spans.ended(EndedSpan(context, None, "alarm", began, Timestamp.now())))

  /** What was set again meanwhile stays. The trigger goes last: another try finds its rules by it.
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

  /** No request began it, so that what it begins is a trace of its own. */
  private def origin(): Origin = Origin(UUID.randomUUID.toString.replace("-", ""), spans.begin(None))

  /** Looks from now on. What it returns ends that, and completes when nobody looks any more. */
  def start(): () => Future[Unit] =
    // What could not be done is still due when it looks the next time.
    val stop = Rounds.start(interval, blocking, log, "looking for alarms failed", canRun):
      while round() >= MostOfNamespace && !stopping do ()
    () =>
      stopping = true
      stop()

object AlarmClock:
  /** Alarms that are read at a time, and triggers that one controller fires at the same time. */
  private val Batch = 100
  private val MostUnderWay = 200

  /** Of which one namespace may have a quarter, so that its many alarms do not keep others' waiting. */
  private val MostOfNamespace = MostUnderWay / 4

  private def key(alarm: Alarm): (String, String) = (alarm.namespace, alarm.trigger)

  private val log = LoggerFactory.getLogger(classOf[AlarmClock])
