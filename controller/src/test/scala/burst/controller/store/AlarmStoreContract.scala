package burst.controller.store

import burst.controller.alarm.*
import burst.controller.trigger.TriggerChange
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import java.time.{Duration, Instant, ZoneId}
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** What every implementation of [[AlarmStore]] must do. */
abstract class AlarmStoreContract extends StorageFixtures:
  private val noon = Instant.parse("2030-01-01T12:00:00.123Z")
  private val every = Times.Every(Duration.ofMinutes(1), noon)

  private def alarm(
      trigger: String,
      due: Option[Instant] = Some(noon),
      schedule: Schedule = Schedule(every)
  ) =
    Alarm("guest", trigger, schedule, JsonObject("a" -> "\u0000".asJson), due, Some(3), None, noon)

  private def stored(s: Storage, alarm: Alarm): Alarm =
    s.triggers.put("guest", alarm.trigger, overwrite = true, TriggerChange(), 100, Timestamp.ofMicros(1))
    assertEquals(s.alarms.create(alarm), Right(()))
    alarm

  storage.test("an alarm is stored as set, once for each existing trigger"): s =>
    val cron = CronExpression.parse("*/5 9-17 * * 1-5").fold(problem => fail(problem.message), identity)
    val schedules = Vector(
      Schedule(Times.Cron(cron, ZoneId.of("Europe/Berlin")), Some(noon), Some(noon.plusSeconds(9))),
      Schedule(every),
      Schedule(Times.Once(noon, AfterOnce.DeleteRules))
    )
    schedules.zipWithIndex.foreach: (schedule, n) =>
      val one = stored(s, alarm(s"t$n", schedule = schedule))
      assertEquals(s.alarms.find("guest", s"t$n"), Some(one))
      assertEquals(s.alarms.create(one), Left(AlarmRefusal.Exists))
    assertEquals(s.alarms.create(alarm("nobody")), Left(AlarmRefusal.NoTrigger))
    assertEquals(s.alarms.find("other", "t0"), None)

  storage.test("an alarm is deleted with its trigger, or alone"): s =>
    Vector("t", "u").foreach(name => stored(s, alarm(name)))
    s.triggers.delete("guest", "t")
    s.alarms.delete("guest", "u")
    s.alarms.delete("guest", "u")
    assertEquals(Vector("t", "u").flatMap(s.alarms.find("guest", _)), Vector.empty)
    assert(s.triggers.find("guest", "u").isDefined)

  storage.test("due alarms are returned by time, and paused ones never"): s =>
    Vector("late" -> -1, "later" -> -9, "now" -> 0, "not" -> 1).foreach: (name, seconds) =>
      stored(s, alarm(name, Some(noon.plusSeconds(seconds))))
    stored(s, alarm("paused", None))
    assertEquals(s.alarms.due(noon, 10).map(_.trigger), Vector("later", "late", "now"))
    assertEquals(s.alarms.due(noon, 1).map(_.trigger), Vector("later"))
    assertEquals(s.alarms.due(noon, 10, but = Set("guest", "other")), Vector.empty)
    assertEquals(s.alarms.due(noon, 10, but = Set("other")).size, 3)

  storage.test("an alarm that was changed since it was read is not replaced"): s =>
    val read = stored(s, alarm("t"))
    val paused = read.stopped("paused", noon.plusSeconds(1))
    assert(s.alarms.replace(read, paused))
    assert(!s.alarms.replace(read, read.fired(noon)))
    assertEquals(s.alarms.find("guest", "t"), Some(paused))
    assert(s.alarms.replace(paused, paused.resumed(noon.plusSeconds(2))))

  storage.test("changes of an alarm that has fired for the last time are told apart by the microsecond"): s =>
    val read = stored(s, alarm("t", schedule = Schedule(Times.Once(noon, AfterOnce.Keep))))
    val moment = noon.plusNanos(7_001_000)
    assert(s.alarms.replace(read, read.fired(moment)))
    assert(!s.alarms.replace(read, read.fired(moment)))
    assertEquals(s.alarms.find("guest", "t").map(there => (there.due, there.changed)), Some((None, moment)))

  sharing.test("of several that find an alarm due, only one claims it"): (one, other) =>
    val due = (1 to 20).map(n => stored(one, alarm(s"t$n")))
    val threads = Executors.newFixedThreadPool(6)
    val claims =
      for alarm <- due; s <- Vector(one, other, one, other)
      yield new Callable[Boolean]:
        def call(): Boolean = s.alarms.replace(alarm, alarm.fired(noon))
    try assertEquals(threads.invokeAll(claims.asJava).asScala.count(_.get), 20)
    finally threads.shutdownNow()
    assertEquals(one.alarms.due(noon, 100), Vector.empty)
