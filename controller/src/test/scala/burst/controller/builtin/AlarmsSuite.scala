package burst.controller.builtin

import burst.protocol.{Origin, Timestamp}
import burst.controller.action.{ActionName, Invocation}
import burst.controller.alarm.Alarm
import burst.controller.firing.FakeActions
import burst.controller.store.{Blocking, EmbeddedStorage, Identity, Samples, Storage}
import burst.controller.trigger.TriggerChange
import io.circe.{parser, Json}
import java.time.{Duration, Instant}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

class AlarmsSuite extends munit.FunSuite, EmbeddedStorage:
  private val begin = Instant.parse("2030-01-01T00:00:00Z")

  private final class Feeds(storage: Storage):
    @volatile var now: Instant = begin
    private val all = Alarms(storage.alarms, Blocking(ExecutionContext.global), () => now).all

    def apply(feed: String, lifecycleEvent: String, more: String = "", trigger: String = "/_/t"): Json =
      val payload =
        s"""{"lifecycleEvent":"$lifecycleEvent","triggerName":"$trigger","authKey":"a:b","trigger_payload":""$more}"""
      run(feed, payload)

    def run(feed: String, payload: String): Json =
      val action = FakeActions.action(ActionName("whisk.system", Some("alarms"), feed))
      val json = lastOf(payload)
      Await.result(
        all(feed).run(Invocation(Identity("guest", Samples.limits), action, json, Origin("t"))),
        30.seconds
      )

    /** Parses a payload; of a field that occurs twice, the last one counts. */
    private def lastOf(payload: String): Json = parser.parse(payload).fold(throw _, identity)

    def alarm: Alarm = storage.alarms.find("guest", "t").getOrElse(fail("the alarm is missing"))

  private val success = Json.obj("status" -> Json.fromString("success"))

  private def withTrigger(storage: Storage): Feeds =
    storage.triggers.put("guest", "t", overwrite = true, TriggerChange(), 9, Timestamp.ofMicros(1))
    Feeds(storage)

  private def fails(result: Json, words: String)(using munit.Location): Unit =
    val error = result.hcursor.get[String]("error").getOrElse(fail(result.noSpaces))
    assert(error.contains(words), error)

  storage.test("a cron alarm follows its time zone and dates, and keeps its payload and maximum number"): s =>
    val feeds = withTrigger(s)
    val created = feeds(
      "alarm",
      "CREATE",
      ""","cron":"0 9 * * *","timezone":"Europe/Berlin","startDate":"2030-01-02","stopDate":1893974400000,
         "trigger_payload":{"a":1},"maxTriggers":3"""
    )
    assertEquals(created, success)
    assertEquals(feeds.alarm.due, Some(Instant.parse("2030-01-02T08:00:00Z")))
    assertEquals(feeds.alarm.remaining, Some(3L))
    val read = feeds("alarm", "READ").hcursor
    assertEquals(read.downField("config").get[String]("cron"), Right("0 9 * * *"))
    assertEquals(read.downField("config").get[String]("timezone"), Right("Europe/Berlin"))
    assertEquals(read.downField("config").get[Json]("payload"), Right(Json.obj("a" -> Json.fromInt(1))))
    assertEquals(read.downField("config").get[Long]("stopDate"), Right(1893974400000L))
    assertEquals(read.downField("status").get[Boolean]("active"), Right(true))
    fails(feeds("alarm", "CREATE", ""","cron":"* * * * *""""), "already")

  storage.test("an update changes only the fields it names"): s =>
    val feeds = withTrigger(s)
    feeds("alarm", "CREATE", ""","cron":"0 9 * * *","timezone":"Europe/Berlin","trigger_payload":"text"""")
    assertEquals(feeds("alarm", "UPDATE", ""","cron":"0 10 * * *""""), success)
    assertEquals(feeds.alarm.due, Some(Instant.parse("2030-01-01T09:00:00Z")))
    assertEquals(feeds.alarm.payload("payload"), Some(Json.fromString("text")))
    fails(feeds("alarm", "UPDATE", ""","cron":"never""""), "cron")
    assertEquals(feeds.alarm.due, Some(Instant.parse("2030-01-01T09:00:00Z")))
    fails(feeds("alarm", "UPDATE", trigger = "/_/none"), "no alarm")

  storage.test("an interval begins soon, or at its start date"): s =>
    val feeds = withTrigger(s)
    assertEquals(feeds("interval", "CREATE", ""","minutes":"2""""), success)
    assertEquals(feeds.alarm.due, Some(begin.plusSeconds(30)))
    assertEquals(
      feeds("interval", "UPDATE", ""","minutes":5,"startDate":"2030-01-01T01:00:00.000Z""""),
      success
    )
    assertEquals(feeds.alarm.due, Some(begin.plus(Duration.ofHours(1))))
    assertEquals(
      feeds.alarm.fired(begin.plus(Duration.ofHours(1))).due,
      Some(begin.plus(Duration.ofMinutes(65)))
    )

  storage.test("a paused alarm is not due, and resumes at its next time"): s =>
    val feeds = withTrigger(s)
    feeds("interval", "CREATE", ""","minutes":10,"startDate":"2030-01-01T00:10:00Z"""")
    assertEquals(feeds("interval", "PAUSE"), success)
    assertEquals(feeds.alarm.due, None)
    assertEquals(feeds("interval", "READ").hcursor.downField("status").get[Boolean]("active"), Right(false))
    feeds.now = Instant.parse("2030-01-01T05:05:00Z")
    assertEquals(feeds("interval", "UNPAUSE"), success)
    assertEquals(feeds.alarm.due, Some(Instant.parse("2030-01-01T05:10:00Z")))

  storage.test("a one-time alarm takes a date, under either name, and what to delete afterwards"): s =>
    val feeds = withTrigger(s)
    fails(feeds("once", "CREATE"), "date")
    assertEquals(feeds("once", "CREATE", ""","fireDate":"2030-02-01","deleteAfterFire":"rules""""), success)
    val config = feeds("once", "READ").hcursor.downField("config")
    assertEquals(config.get[String]("deleteAfterFire"), Right("rules"))
    assertEquals(config.get[Long]("date"), Right(Instant.parse("2030-02-01T00:00:00Z").toEpochMilli))
    assertEquals(feeds("once", "UPDATE", ""","date":"2030-03-01","deleteAfterFire":false"""), success)
    assertEquals(feeds.alarm.due, Some(Instant.parse("2030-03-01T00:00:00Z")))

  storage.test("deleting an alarm again succeeds"): s =>
    val feeds = withTrigger(s)
    feeds("alarm", "CREATE", ""","cron":"* * * * *"""")
    assertEquals(feeds("alarm", "DELETE"), success)
    assertEquals(feeds("alarm", "DELETE"), success)
    assertEquals(s.alarms.find("guest", "t"), None)

  storage.test("an invalid parameter is refused by name, and nothing is stored"): s =>
    val feeds = withTrigger(s)
    fails(feeds("alarm", "CREATE"), "cron")
    Vector(
      ""","cron":7""" -> "cron",
      ""","cron":"* * *"""" -> "cron",
      ""","cron":"0 0 31 2 *"""" -> "never",
      ""","cron":"* * * * *","timezone":"Mars/Olympus"""" -> "timezone",
      ""","cron":"* * * * *","startDate":"2029-12-31"""" -> "startDate",
      ""","cron":"* * * * *","startDate":"tomorrow"""" -> "startDate",
      ""","cron":"* * * * *","stopDate":1""" -> "stopDate",
      ""","cron":"* * * * *","stopDate":1e300""" -> "stopDate",
      ""","cron":"* * * * *","startDate":"2030-01-03","stopDate":"2030-01-02"""" -> "never",
      ""","cron":"* * * * *","maxTriggers":0""" -> "maxTriggers",
      ""","cron":"* * * * *","maxTriggers":"many"""" -> "maxTriggers",
      ""","cron":"* * * * *","trigger_payload":[1]""" -> "trigger_payload"
    ).foreach((more, word) => fails(feeds("alarm", "CREATE", more), word))
    Vector("0", "-1", "1.5", "\"x\"", "99999999999").foreach: minutes =>
      fails(feeds("interval", "CREATE", s""","minutes":$minutes"""), "minutes")
    fails(feeds("once", "CREATE", ""","date":"2030-01-02","deleteAfterFire":"maybe""""), "deleteAfterFire")
    fails(feeds("alarm", "EXPLODE"), "lifecycleEvent")
    fails(feeds("alarm", "CREATE", ""","cron":"* * * * *"""", trigger = "/other/t"), "triggerName")
    fails(feeds("alarm", "CREATE", ""","cron":"* * * * *"""", trigger = "/_/a/b"), "triggerName")
    fails(feeds("alarm", "CREATE", ""","cron":"* * * * *"""", trigger = "/_/none"), "no trigger")
    fails(feeds.run("alarm", "{}"), "triggerName")
    fails(feeds.run("alarm", "[1]"), "object")
    assertEquals(s.alarms.find("guest", "t"), None)
