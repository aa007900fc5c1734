package burst.controller.firing

import burst.controller.RecordedSpans
import burst.controller.alarm.*
import burst.controller.limits.MinuteCounts
import burst.controller.store.*
import burst.controller.trigger.*
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import java.time.temporal.ChronoUnit
import java.time.{Duration, Instant}
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.stream.Materializer
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, Future}
import scala.jdk.CollectionConverters.*

class AlarmClockSuite extends munit.FunSuite, EmbeddedStorage:
  private lazy val kit = ActorTestKit()
  private given ActorSystem[?] = kit.system
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val begin = Instant.parse("2030-01-01T00:00:00Z")

  /** A trigger store whose first `times` reads fail. */
  private final class Failing(inner: TriggerStore, times: Int) extends EntityStore[Trigger, TriggerChange]:
    val asked: AtomicInteger = AtomicInteger()
    export inner.{count, delete, list, put}
    def find(namespace: String, name: String): Option[Trigger] =
      if asked.incrementAndGet() > times then inner.find(namespace, name)
      else throw away("reading a trigger")

  /** A trigger store that cannot read the triggers of `guest` while `away` is not 0. */
  private final class Standing(inner: TriggerStore, away: AtomicInteger)
      extends EntityStore[Trigger, TriggerChange]:
    export inner.{count, delete, list, put}
    def find(namespace: String, name: String): Option[Trigger] =
      if namespace != "guest" || away.get == 0 then inner.find(namespace, name)
      else throw StoreException("reading a trigger", IllegalStateException("it is away"))

  /** An alarm store whose first claim fails; `becomes` decides whether it was stored. */
  private final class Doubtful(inner: AlarmStore, becomes: (Alarm, Alarm) => Any) extends AlarmStore:
    private val claims = AtomicInteger()
    export inner.{create, delete, due, find}
    def replace(present: Alarm, next: Alarm): Boolean =
      if claims.incrementAndGet() > 1 then inner.replace(present, next)
      else
        becomes(present, next)
        throw away("changing an alarm")

  /** A trigger store whose first deletion fails once it is done and `after` has run. */
  private final class LosingTriggers(inner: TriggerStore, after: () => Any)
      extends EntityStore[Trigger, TriggerChange]:
    private val deletions = AtomicInteger()
    export inner.{count, find, list, put}
    def delete(namespace: String, name: String): Option[Trigger] =
      val gone = inner.delete(namespace, name)
      if deletions.incrementAndGet() > 1 then gone
      else
        after()
        throw away("deleting a trigger")

  /** A rule store whose first deletion fails and is not done. */
  private final class FailingRules(inner: RuleStore) extends RuleStore:
    private val deletions = AtomicInteger()
    export inner.{count, find, list, put, setStatus}
    def delete(namespace: String, name: String): Option[Rule] =
      if deletions.incrementAndGet() > 1 then inner.delete(namespace, name) else throw away("deleting a rule")

  private def away(operation: String) = StoreException(operation, IllegalStateException("it is away"))

  private final class Clock(
      storage: Storage,
      fires: MinuteCounts = MinuteCounts(),
      triggers: Option[TriggerStore] = None,
      patience: FiniteDuration = 20.seconds,
      alarmStore: Option[AlarmStore] = None,
      rules: Option[RuleStore] = None,
      canRun: () => Future[Boolean] = () => Future.successful(true)
  ):
    @volatile var now: Instant = begin
    val invocations: FakeInvocations = FakeInvocations()
    val spans: RecordedSpans = RecordedSpans()
    private val blocking = Blocking(kit.system.executionContext)
    private val firing =
      Firing(FakeActions("a"), invocations, blocking, _ => (false, "No."))(using Materializer(kit.system))
    val alarms: AlarmClock = AlarmClock(
      alarmStore.getOrElse(storage.alarms),
      triggers.getOrElse(storage.triggers),
      rules.getOrElse(storage.rules),
      storage.namespaces,
      firing,
      fires,
      blocking,
      20.millis,
      StoreRetry(patience)(using kit.system.scheduler, kit.system.executionContext),
      () => now,
      canRun = canRun,
      spans = spans
    )
    def fired: Vector[String] = invocations.recorded.asScala.toVector.map(_.name)

    /** Waits for `count` firings in all, as each is recorded a moment after it fires. */
    def waits(count: Int)(using munit.Location): Unit =
      eventually(fired.size >= count)
      assertEquals(fired.size, count)

  private def eventually(holds: => Boolean)(using munit.Location): Unit =
    val end = System.nanoTime() + 60.seconds.toNanos
    assert(Iterator.continually(holds).find(_ || System.nanoTime() > end).contains(true))

  private def alarmed(
      storage: Storage,
      name: String,
      times: Times,
      due: Instant = begin,
      namespace: String = "guest"
  ): Unit =
    storage.namespaces.create(namespace)
    storage.triggers.put(namespace, name, overwrite = true, TriggerChange(), 99, Timestamp.ofMicros(1))
    val rule = RuleChange(trigger = Some(name), action = Some(EntityRef(namespace, "a")))
    storage.rules.put(namespace, s"r-$name", overwrite = true, rule, 99, Timestamp.ofMicros(1))
    val payload = JsonObject("p" -> 1.asJson)
    val alarm = Alarm(namespace, name, Schedule(times), payload, Some(due), None, None, begin)
    assertEquals(storage.alarms.create(alarm), Right(()))

  private val minutely = Times.Every(Duration.ofMinutes(1), begin)

  storage.test("a due alarm fires once with its payload, and again at its next time"): s =>
    val clock = Clock(s)
    alarmed(s, "t", minutely)
    alarmed(s, "later", minutely, begin.plusSeconds(1))
    assertEquals(clock.alarms.round(), 1)
    assertEquals(clock.alarms.round(), 0)
    clock.waits(1)
    assertEquals(clock.fired, Vector("t"))
    val payload = clock.invocations.begun.asScala.head.payload.hcursor
    assertEquals(payload.get[Int]("p"), Right(1))
    clock.now = begin.plusSeconds(60)
    assertEquals(clock.alarms.round(), 2)
    clock.waits(3)

  storage.test("no alarm is claimed while nothing could run what it fires, and missed ones fire afterwards"):
    s =>
      alarmed(s, "t", minutely)
      val asked = AtomicInteger()
      @volatile var canRun = false
      val clock = Clock(
        s,
        canRun = () =>
          asked.incrementAndGet()
          Future.successful(canRun)
      )
      clock.now = begin.plusSeconds(600)
      val stop = clock.alarms.start()
      eventually(asked.get >= 3)
      assertEquals(s.alarms.find("guest", "t").flatMap(_.due), Some(begin))
      canRun = true
      clock.waits(1)
      Await.result(stop(), 20.seconds)
      assertEquals(clock.fired, Vector("t"))

  storage.test(
    "a namespace whose firings hang takes a quarter of the places, and alarms of other namespaces fire"
  ): s =>
    (1 to 60).foreach(n => alarmed(s, s"t$n", minutely))
    alarmed(s, "later", minutely, begin.plusSeconds(1), "other")
    val away = AtomicInteger(1)
    val clock = Clock(s, triggers = Some(Standing(s.triggers, away)), patience = 2.minutes)
    clock.now = begin.plusSeconds(2)
    assertEquals(clock.alarms.round(), 51)
    clock.waits(1)
    assertEquals(clock.fired, Vector("later"))
    assertEquals(clock.alarms.round(), 0)
    assertEquals(s.alarms.due(clock.now, 99).size, 10)
    away.set(0)
    clock.waits(51)
    // Places become free one after the other.
    var begun = 0
    eventually:
      begun += clock.alarms.round()
      begun == 10
    clock.waits(61)

  storage.test("missed times are made up for by a single firing"): s =>
    alarmed(s, "t", minutely)
    val clock = Clock(s)
    clock.now = begin.plusSeconds(36_030)
    assertEquals(clock.alarms.round(), 1)
    assertEquals(s.alarms.find("guest", "t").flatMap(_.due), Some(begin.plusSeconds(36_060)))
    clock.waits(1)

  directory.test("an alarm survives the end of its controller"): root =>
    val first = open(root)
    alarmed(first, "t", minutely)
    first.close()
    val second = open(root)
    try
      val clock = Clock(second)
      clock.now = begin.plusSeconds(90)
      assertEquals(clock.alarms.round(), 1)
      clock.waits(1)
      assertEquals(second.alarms.find("guest", "t").flatMap(_.due), Some(begin.plusSeconds(120)))
    finally second.close()

  sharing.test("if two controllers look at the same time, only one of them fires each alarm"): (one, other) =>
    (1 to 30).foreach(n => alarmed(one, s"t$n", minutely))
    val clocks = Vector(Clock(one), Clock(other))
    val start = CountDownLatch(1)
    val threads = clocks.map: clock =>
      Thread: () =>
        start.await()
        clock.alarms.round()
        ()
    threads.foreach(_.start())
    start.countDown()
    threads.foreach(_.join(30_000))
    val end = System.nanoTime() + 60.seconds.toNanos
    while clocks.map(_.fired.size).sum < 30 && System.nanoTime() < end do Thread.onSpinWait()
    assertEquals(clocks.flatMap(_.fired).sorted, (1 to 30).map(n => s"t$n").sorted.toVector)

  storage.test("after a one-time alarm, its trigger and rules are kept or deleted as configured"): s =>
    val clock = Clock(s)
    alarmed(s, "kept", Times.Once(begin, AfterOnce.Keep))
    alarmed(s, "gone", Times.Once(begin, AfterOnce.DeleteTrigger))
    alarmed(s, "all", Times.Once(begin, AfterOnce.DeleteRules))
    assertEquals(clock.alarms.round(), 3)
    val end = System.nanoTime() + 60.seconds.toNanos
    def left = (s.triggers.list("guest", 9, 0).map(_.name), s.rules.list("guest", 9, 0).map(_.name).toSet)
    val wanted = (Vector("kept"), Set("r-kept", "r-gone"))
    while left != wanted && System.nanoTime() < end do Thread.onSpinWait()
    assertEquals(left, wanted)
    assertEquals(s.alarms.find("guest", "kept").map(_.due), Some(None))

  storage.test("if the store fails after a claim, it is asked again and the alarm fires once"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.Keep))
    val triggers = Failing(s.triggers, 1)
    val clock = Clock(s, triggers = Some(triggers))
    assertEquals(clock.alarms.round(), 1)
    assertEquals(clock.alarms.round(), 0)
    clock.waits(1)
    assertEquals((triggers.asked.get, clock.invocations.begun.size), (2, 1))

  storage.test("a firing's record is stored even after the store failed, and no action is begun again"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.Keep))
    val clock = Clock(s)
    clock.invocations.refusedRecords.set(1)
    assertEquals(clock.alarms.round(), 1)
    clock.waits(1)
    assertEquals(clock.invocations.begun.size, 1)

  storage.test("a store that keeps failing is retried only for a while"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.Keep))
    val triggers = Failing(s.triggers, Int.MaxValue)
    val clock = Clock(s, triggers = Some(triggers), patience = 500.millis)
    assertEquals(clock.alarms.round(), 1)
    eventually(triggers.asked.get > 0)
    // The second pause would end after the retries' time is up.
    Thread.sleep(1500)
    assert(Set(1, 2)(triggers.asked.get), triggers.asked.get)
    assertEquals(clock.fired, Vector.empty)

  storage.test("a claim whose reply is lost is recognized, and the alarm fires once"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.Keep))
    val fires = MinuteCounts(() => Timestamp.Epoch)
    val clock = Clock(s, fires, alarmStore = Some(Doubtful(s.alarms, s.alarms.replace)))
    intercept[StoreException](clock.alarms.round())
    clock.waits(1)
    assertEquals(clock.alarms.round(), 0)
    assertEquals(clock.invocations.begun.size, 1)
    assert(fires.take("guest", 1).isLeft, "the firing counts")

  storage.test("a claim that was not stored is made again, and other alarms fire meanwhile"): s =>
    Vector("t", "u").foreach(alarmed(s, _, minutely))
    val clock = Clock(s, alarmStore = Some(Doubtful(s.alarms, (_, _) => ())))
    intercept[StoreException](clock.alarms.round())
    clock.alarms.round()
    clock.waits(2)
    assertEquals(clock.fired.sorted, Vector("t", "u"))
    assertEquals(s.alarms.due(begin.plusSeconds(59), 9), Vector.empty)

  storage.test("a clock that finds an alarm claimed by another neither fires it nor counts the firing"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.Keep))
    val fires = MinuteCounts(() => Timestamp.Epoch)
    def byAnother(present: Alarm) =
      s.alarms.replace(present, present.fired(begin.plus(1, ChronoUnit.MICROS)))
    val clock = Clock(s, fires, alarmStore = Some(Doubtful(s.alarms, (present, _) => byAnother(present))))
    intercept[StoreException](clock.alarms.round())
    eventually(fires.take("guest", 1).isRight)
    assertEquals(clock.invocations.begun.size, 0)

  storage.test("a recurring alarm that another clock may have claimed is skipped this time"): s =>
    alarmed(s, "t", minutely)
    val fires = MinuteCounts(() => Timestamp.Epoch)
    val clock = Clock(s, fires, alarmStore = Some(Doubtful(s.alarms, s.alarms.replace)))
    intercept[StoreException](clock.alarms.round())
    eventually(fires.take("guest", 1).isRight)
    assertEquals(clock.invocations.begun.size, 0)
    clock.now = begin.plusSeconds(60)
    eventually(clock.alarms.round() == 1)
    clock.waits(1)

  storage.test("a trigger and its rules are deleted afterwards even if the store fails for a moment"): s =>
    alarmed(s, "all", Times.Once(begin, AfterOnce.DeleteRules))
    val triggers = LosingTriggers(s.triggers, () => ())
    val clock = Clock(s, triggers = Some(triggers), rules = Some(FailingRules(s.rules)))
    assertEquals(clock.alarms.round(), 1)
    eventually(clock.spans.all.nonEmpty)
    assertEquals((s.triggers.find("guest", "all"), s.rules.find("guest", "r-all")), (None, None))
    assertEquals(clock.invocations.begun.size, 1)

  storage.test("a trigger that was created again meanwhile is kept"): s =>
    alarmed(s, "t", Times.Once(begin, AfterOnce.DeleteTrigger))
    val triggers =
      LosingTriggers(s.triggers, () => alarmed(s, "t", minutely, begin.plusSeconds(60)))
    val clock = Clock(s, triggers = Some(triggers))
    assertEquals(clock.alarms.round(), 1)
    eventually(clock.spans.all.nonEmpty)
    assert(s.triggers.find("guest", "t").isDefined)

  storage.test("an alarm over its namespace's rate fires later, and one of a revoked namespace never"): s =>
    alarmed(s, "t", minutely)
    val minute = MinuteCounts(() => Timestamp.ofMillis(53_000))
    val allowed = s.namespaces.limits("guest").fold(0)(_.firesPerMinute)
    (1 to allowed).foreach(_ => minute.take("guest", allowed))
    val limited = Clock(s, minute)
    assertEquals(limited.alarms.round(), 0)
    assertEquals(s.alarms.find("guest", "t").flatMap(_.due), Some(begin.plusSeconds(7)))
    s.namespaces.revoke("guest")
    val clock = Clock(s)
    clock.now = begin.plusSeconds(8)
    assertEquals(clock.alarms.round(), 0)
    assertEquals(s.alarms.find("guest", "t").map(_.due), Some(None))
    assertEquals(limited.fired ++ clock.fired, Vector.empty)
