package burst.controller.alarm

import io.circe.JsonObject
import java.time.{Duration, Instant, ZoneId, ZoneOffset}

class ScheduleSuite extends munit.FunSuite:
  private def at(text: String) = Instant.parse(text)
  private def cron(text: String) = CronExpression.parse(text).fold(problem => fail(problem.message), identity)

  private def times(
      text: String,
      from: String,
      zone: ZoneId = ZoneOffset.UTC,
      count: Int = 3
  ): Vector[String] =
    Iterator
      .unfold(at(from))(moment => cron(text).after(moment, zone).map(next => (next.toString, next)))
      .take(count)
      .toVector

  test("five fields begin with minutes, six with seconds"):
    assertEquals(
      times("*/2 * * * *", "2030-01-01T00:00:00Z"),
      Vector("2030-01-01T00:02:00Z", "2030-01-01T00:04:00Z", "2030-01-01T00:06:00Z")
    )
    assertEquals(
      times("*/30 * * * * *", "2030-01-01T00:00:00.5Z"),
      Vector("2030-01-01T00:00:30Z", "2030-01-01T00:01:00Z", "2030-01-01T00:01:30Z")
    )
    assertEquals(times("  0 9  8 * * ", "2030-01-01T00:00:00Z", count = 1), Vector("2030-01-08T09:00:00Z"))

  test("names, ranges, steps and lists are accepted, and Sunday is 0 or 7"):
    // The first of January 2030 is a Tuesday.
    assertEquals(times("0 0 * * SUN", "2030-01-01T00:00:00Z", count = 1), Vector("2030-01-06T00:00:00Z"))
    Vector("0", "7").foreach: sunday =>
      assertEquals(
        times(s"0 0 * * $sunday", "2030-01-01T00:00:00Z", count = 1),
        Vector("2030-01-06T00:00:00Z")
      )
    assertEquals(times("0 0 1 FEB *", "2030-01-01T00:00:00Z", count = 1), Vector("2030-02-01T00:00:00Z"))
    assertEquals(
      times("15,45 8-9/1 * * 1-5", "2030-01-05T00:00:00Z"),
      Vector("2030-01-07T08:15:00Z", "2030-01-07T08:45:00Z", "2030-01-07T09:15:00Z")
    )

  test("if both a day of the month and a weekday are given, either one matches, as with crontab"):
    assertEquals(
      times("0 0 10 * MON", "2030-01-01T00:00:00Z"),
      Vector("2030-01-07T00:00:00Z", "2030-01-10T00:00:00Z", "2030-01-14T00:00:00Z")
    )

  test("a schedule follows its zone's clocks, even when they change"):
    val berlin = ZoneId.of("Europe/Berlin")
    assertEquals(
      times("0 9 * * *", "2030-03-30T00:00:00Z", berlin),
      Vector("2030-03-30T08:00:00Z", "2030-03-31T07:00:00Z", "2030-04-01T07:00:00Z")
    )

  test("an invalid cron expression is refused, and one that never matches does not hang"):
    Vector(
      "",
      "* * * *",
      "* * * * * * *",
      "61 * * * *",
      "* 24 * * *",
      "* * 0 * *",
      "* * * 13 *",
      "* * * * 8",
      "a b c d e",
      "5-1 * * * *",
      "*/0 * * * *",
      "-1 * * * *",
      "* * * * * ;",
      "0 0 ${x} * *",
      "1," * 200 + "1 * * * *",
      "9" * 50 + " * * * *"
    ).foreach(text => assert(CronExpression.parse(text).isLeft, text))
    assertEquals(times("0 0 31 2 *", "2030-01-01T00:00:00Z"), Vector.empty)
    assertEquals(times("0 0 29 2 *", "2030-01-01T00:00:00Z", count = 1), Vector("2032-02-29T00:00:00Z"))

  test("an interval keeps to its own times, however late it is asked"):
    val every = Schedule(Times.Every(Duration.ofMinutes(10), at("2030-01-01T00:05:00Z")))
    def next(from: String) = every.after(at(from)).map(_.toString)
    assertEquals(next("2029-01-01T00:00:00Z"), Some("2030-01-01T00:05:00Z"))
    assertEquals(next("2030-01-01T00:05:00Z"), Some("2030-01-01T00:15:00Z"))
    assertEquals(next("2030-01-01T07:16:00Z"), Some("2030-01-01T07:25:00Z"))

  test("no time lies before the start or after the stop, and both are included"):
    val minutely = Times.Cron(cron("* * * * *"), ZoneOffset.UTC)
    val schedule = Schedule(minutely, Some(at("2030-01-01T00:10:00Z")), Some(at("2030-01-01T00:11:00Z")))
    def next(from: String) = schedule.after(at(from)).map(_.toString)
    assertEquals(next("2029-01-01T00:00:00Z"), Some("2030-01-01T00:10:00Z"))
    assertEquals(next("2030-01-01T00:10:00Z"), Some("2030-01-01T00:11:00Z"))
    assertEquals(next("2030-01-01T00:11:00Z"), None)

  test("a missed alarm fires once, and an alarm ends after its maximum number or its last time"):
    val start = at("2030-01-01T00:00:00Z")
    val schedule = Schedule(Times.Every(Duration.ofMinutes(1), start))
    val alarm = Alarm("guest", "t", schedule, JsonObject.empty, Some(start), Some(2), None, start)
    val late = alarm.fired(at("2030-01-01T05:00:30Z"))
    assertEquals((late.due, late.remaining), (Some(at("2030-01-01T05:01:00Z")), Some(1L)))
    val last = late.fired(at("2030-01-01T05:01:00Z"))
    assertEquals((last.due, last.remaining, last.reason.isDefined), (None, Some(0L), true))
    assertEquals(last.resumed(start).due, None)
    val once = alarm.copy(schedule = Schedule(Times.Once(start, AfterOnce.Keep)), remaining = None)
    val over = once.fired(start)
    assertEquals((over.due, over.reason.isDefined), (None, true))
    val paused = alarm.stopped("paused", start)
    assertEquals(paused.resumed(at("2030-01-01T05:00:30Z")).due, Some(at("2030-01-01T05:01:00Z")))
