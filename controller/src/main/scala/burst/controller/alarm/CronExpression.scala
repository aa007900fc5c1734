package burst.controller.alarm

import com.cronutils.model.Cron
import com.cronutils.model.definition.{CronDefinition, CronDefinitionBuilder}
import com.cronutils.model.time.ExecutionTime
import com.cronutils.parser.CronParser
import java.time.{Instant, ZoneId}
import scala.util.Try

/** Times as in a crontab: minute, hour, day of the month, month, day of the week, preceded by seconds if
  * there are six fields. If both days are restricted, either may match.
  */
final class CronExpression private (val text: String, cron: Cron):
  private val times = ExecutionTime.forCron(cron)

  /** The first time after this moment, by the clock of a zone; nothing if there is none. */
  def after(moment: Instant, zone: ZoneId): Option[Instant] =
    val next = times.nextExecution(moment.atZone(zone))
    Option.when(next.isPresent)(next.get.toInstant)

  override def equals(other: Any): Boolean = other match
    case that: CronExpression => that.text == text
    case _ => false
  override def hashCode: Int = text.hashCode
  override def toString: String = text

object CronExpression:
  /** Longer ones are not needed, and parsing takes time. */
  private val MostCharacters = 256

  private val definition: CronDefinition = CronDefinitionBuilder
    .defineCron()
    .withSeconds()
    .withStrictRange()
    .and()
    .withMinutes()
    .withStrictRange()
    .and()
    .withHours()
    .withStrictRange()
    .and()
    .withDayOfMonth()
    .withStrictRange()
    .and()
    .withMonth()
    .withStrictRange()
    .and()
    .withDayOfWeek()
    .withValidRange(0, 7)
    .withMondayDoWValue(1)
    .withIntMapping(7, 0)
    .withStrictRange()
    .and()
    .instance()

  /** Parses an expression, or returns what is wrong with it. */
  def parse(text: String): Either[AlarmProblem, CronExpression] =
    val fields = text.trim.split("\\s+").toVector
    val whole = if fields.sizeIs == 5 then "0" +: fields else fields
    if text.lengthIs > MostCharacters || whole.sizeIs != 6 then Left(wrong)
    else
      // The parser is not thread-safe.
      Try(CronExpression(text, CronParser(definition).parse(whole.mkString(" ")).validate())).toEither.left
        .map(_ => wrong)

  private val wrong = AlarmProblem.NotACronExpression(MostCharacters)
