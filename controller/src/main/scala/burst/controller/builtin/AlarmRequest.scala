package burst.controller.builtin

import burst.controller.alarm.*
import io.circe.{Json, JsonObject}
import java.time.*
import java.time.format.DateTimeFormatter
import java.util.Locale
import scala.util.Try

/** The feeds of `/whisk.system/alarms`. */
enum AlarmFeed(val name: String):
  case Cron extends AlarmFeed("alarm")
  case Interval extends AlarmFeed("interval")
  case Once extends AlarmFeed("once")

/** The parameters of a request for an alarm, the same as those of OpenWhisk's alarms. Errors name the
  * parameter.
  */
final class AlarmRequest(arguments: JsonObject, now: Instant):
  import AlarmRequest.*

  /** Reads the schedule; parameters that are missing keep their values from `there`. */
  def schedule(feed: AlarmFeed, there: Option[Schedule]): Either[AlarmProblem, Schedule] =
    val former = there.map(_.times)
    for
      start <- date("startDate")
      stop <- date("stopDate")
      times <- feed match
        case AlarmFeed.Cron => cron(former)
        case AlarmFeed.Interval => interval(former, start)
        case AlarmFeed.Once => once(former)
      // An interval's first time is its start anyway, and an alarm that fires once has no bounds.
      bounds = Option.when(feed == AlarmFeed.Cron)(start.orElse(there.flatMap(_.start))).flatten
      end = Option.when(feed != AlarmFeed.Once)(stop.orElse(there.flatMap(_.stop))).flatten
      schedule = Schedule(times, bounds, end)
      _ <- schedule.after(now).toRight(AlarmProblem.NeverFires)
    yield schedule

  /** Reads the payload that the trigger is fired with. */
  def payload: Either[AlarmProblem, Option[JsonObject]] =
    read("trigger_payload", "an object or a string"): json =>
      json.asObject.orElse(json.asString.map(_ => JsonObject("payload" -> json)))

  /** Reads how often it fires at most. */
  def most: Either[AlarmProblem, Option[Long]] =
    read("maxTriggers", "a whole number of at least 1, or -1 for any number"): json =>
      whole(json).filter(most => most >= 1 || most == Endless)
    .map(_.filter(_ != Endless))

  private def cron(former: Option[Times]): Either[AlarmProblem, Times] =
    val there = former.collect { case Times.Cron(expression, zone) => (expression, zone) }
    for
      text <- read("cron", "a string")(_.asString)
      said <- text.fold(Right(None))(CronExpression.parse(_).map(Some(_)))
      expression <- said.orElse(there.map(_(0))).toRight(AlarmProblem.Missing("cron"))
      zone <- read("timezone", "the name of a time zone, such as Europe/Berlin"): json =>
        json.asString.flatMap(id => Try(ZoneId.of(id)).toOption)
    yield Times.Cron(expression, zone.orElse(there.map(_(1))).getOrElse(ZoneOffset.UTC))

  private def interval(former: Option[Times], start: Option[Instant]): Either[AlarmProblem, Times] =
    val there = former.collect { case Times.Every(interval, first) => (interval, first) }
    for
      said <- read("minutes", s"a whole number from 1 to $MostMinutes"): json =>
        whole(json).filter(minutes => minutes >= 1 && minutes <= MostMinutes).map(Duration.ofMinutes)
      interval <- said.orElse(there.map(_(0))).toRight(AlarmProblem.Missing("minutes"))
    yield Times.Every(interval, start.orElse(there.map(_(1))).getOrElse(now.plus(TimeForRules)))

  private def once(former: Option[Times]): Either[AlarmProblem, Times] =
    val there = former.collect { case Times.Once(at, afterwards) => (at, afterwards) }
    for
      date <- date("date")
      said <- date.fold(this.date("fireDate"))(at => Right(Some(at)))
      at <- said.orElse(there.map(_(0))).toRight(AlarmProblem.Missing("date"))
      afterwards <- read("deleteAfterFire", "one of false, true, rules"): json =>
        Afterwards.get(json.asString.getOrElse(json.noSpaces).trim.toLowerCase(Locale.ROOT))
    yield Times.Once(at, afterwards.orElse(there.map(_(1))).getOrElse(AfterOnce.Keep))

  /** Reads milliseconds since the epoch, or an ISO date, in UTC unless it names another zone. */
  private def date(name: String): Either[AlarmProblem, Option[Instant]] =
    val expected = "a time in the future, in milliseconds since 1970 or as 2030-01-31T23:59:00Z"
    read(name, expected): json =>
      val millis = json.asNumber.flatMap(_.toLong).filter(_ < Latest.toEpochMilli).map(Instant.ofEpochMilli)
      millis.orElse(json.asString.flatMap(iso)).filter(at => at.isAfter(now) && at.isBefore(Latest))

  private def read[A](
      name: String,
      expected: String
  )(as: Json => Option[A]): Either[AlarmProblem, Option[A]] =
    // The package's default for the payload is an empty string, which counts as absent.
    arguments(name).filterNot(json => json.isNull || json.asString.contains("")) match
      case None => Right(None)
      case Some(json) => as(json).toRight(AlarmProblem.Invalid(name, expected)).map(Some(_))

private object AlarmRequest:
  private val MostMinutes = 5_256_000L // Ten years.
  private val Endless = -1L
  private val Latest = Instant.parse("9999-12-31T23:59:59Z")

  /** Delays the first firing, as rules are made after their trigger and should not miss it. */
  private val TimeForRules = Duration.ofSeconds(30)
  private val Afterwards = Map(
    "false" -> AfterOnce.Keep,
    "true" -> AfterOnce.DeleteTrigger,
    "rules" -> AfterOnce.DeleteRules
  )

  /** Reads a whole number, also from a string. */
  private def whole(json: Json): Option[Long] =
    json.asNumber.flatMap(_.toLong).orElse(json.asString.flatMap(_.trim.toLongOption))

  private def iso(text: String): Option[Instant] =
    def withTime = DateTimeFormatter.ISO_DATE_TIME
      .parseBest(text, OffsetDateTime.from(_), LocalDateTime.from(_)) match
      case zoned: OffsetDateTime => zoned.toInstant
      case local => LocalDateTime.from(local).toInstant(ZoneOffset.UTC)
    Try(withTime).orElse(Try(LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant)).toOption
