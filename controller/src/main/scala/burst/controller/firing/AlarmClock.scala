package burst.controller.firing

import burst.controller.alarm.*
import burst.controller.limits.MinuteCounts
import burst.controller.store.*
import burst.node.traces.{EndedSpan, SpanSink, Traces}
import burst.protocol.Origin
import io.circe.JsonObject
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.typed.{ActorSystem, Scheduler}
import org.slf4j.LoggerFactory
import scala.concurrent.Future
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.control.NonFatal

/** Fires triggers whose alarms are due. Every controller looks, and the database says which of them fires:
  * the one whose change of the alarm's row it takes. One that ends between that and the firing leaves that
  * time out; no time is fired twice. As nobody else makes up for it, a store that fails then is tried again.
  *
  * Times that passed while no controller ran are made up for by one firing, as soon as one does.
  *
  * Nobody looks while there is no scheduler to run what is fired: what is due stays so until there is, and is
  * not left out should this controller end meanwhile.
  *
  * @param scheduler
  *   answers once there is one
  * @param fires
  *   of each namespace in a minute
  * @param storePatience
  *   how long a store that fails is put up with once an alarm is claimed
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
    now: () => Instant = () => Instant.now(),
    scheduler: () => Future[Any] = () => Future.unit,
    spans: SpanSink = SpanSink.Off,
    storePatience: FiniteDuration = AlarmClock.StorePatience
)(using system: ActorSystem[?]):
  import AlarmClock.*
  import system.executionContext
  private given Scheduler = system.scheduler

  private val underWay = AtomicInteger()
  @volatile private var stopping = false
  private val patience = Patiently(storePatience, () => !stopping)

  /** Looks once, and begins to fire what is due: says how many. */
  def round(): Int =
    val free = MostUnderWay - underWay.get
    if free <= 0 then 0
    else
      val moment = now().truncatedTo(ChronoUnit.MICROS)
      alarms.due(moment, free.min(Batch)).iterator.takeWhile(_ => !stopping).count(ring(_, moment))

  /** Whether it is this controller that fires. */
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
            alarms.replace(alarm, alarm.copy(due = Some(moment.plusSeconds(used.retryAfterSeconds))))
            false
          case Right(()) =>
            val claimed = alarms.replace(alarm, alarm.fired(moment))
            if claimed then fire(caller, alarm) else fires.giveBack(caller.namespace)
            claimed

  private def fire(caller: Identity, alarm: Alarm): Unit =
    underWay.incrementAndGet()
    val began = Traces.now()
    val own = origin()
    patience("reading the trigger of an alarm")(() =>
      blocking(triggers.find(alarm.namespace, alarm.trigger))
    )
      .flatMap:
        case None => Future.unit // It was deleted just now.
        case Some(trigger) =>
          firing
            .fire(caller, trigger, alarm.payload, JsonObject.empty, own, patience)
            .flatMap(_ => blocking(cleanUp(alarm)))
      .recover:
        case NonFatal(cause) =>
          log.error("the trigger {}/{} could not be fired", alarm.namespace, alarm.trigger, cause)
      .onComplete: _ =>
        underWay.decrementAndGet()
        own.trace.foreach(context => spans.ended(EndedSpan(context, None, "alarm", began, Traces.now())))

  private def cleanUp(alarm: Alarm): Unit = alarm.schedule.times match
    case Times.Once(_, AfterOnce.DeleteTrigger) =>
      val _ = triggers.delete(alarm.namespace, alarm.trigger)
    case Times.Once(_, AfterOnce.DeleteRules) =>
      val gone = triggers.delete(alarm.namespace, alarm.trigger)
      gone.flatMap(_.rules).foreach(_.foreach(rule => rules.delete(alarm.namespace, rule.name)))
    case _ => ()

  /** No request began it, so that what it begins is a trace of its own. */
  private def origin(): Origin = Origin(UUID.randomUUID.toString.replace("-", ""), spans.begin(None))

  /** Looks from now on. What it returns ends that, and completes when nobody looks any more. */
  def start(): () => Future[Unit] =
    // What could not be done is still due when it looks the next time.
    val stop = Rounds.start(interval, blocking, log, "looking for alarms failed", scheduler):
      while round() == Batch && !stopping do ()
    () =>
      stopping = true
      stop()

object AlarmClock:
  /** Alarms that are read at a time, and triggers that one controller fires at the same time. */
  private val Batch = 100
  private val MostUnderWay = 200

  /** As long as a flare puts up with it (`burst.scheduler.store-deadline`). */
  private val StorePatience = 2.minutes

  private val log = LoggerFactory.getLogger(classOf[AlarmClock])
