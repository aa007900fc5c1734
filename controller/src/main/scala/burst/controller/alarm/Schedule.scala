package burst.controller.alarm

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.{Decoder, Encoder}
import java.time.{Duration, Instant, ZoneId}
import scala.util.Try

/** When a trigger is fired automatically. */
final case class Schedule(times: Times, start: Option[Instant] = None, stop: Option[Instant] = None):
  /** The first time after this moment, if there is one. */
  def after(moment: Instant): Option[Instant] =
    val from = start.map(_.minusMillis(1)).filter(_.isAfter(moment)).getOrElse(moment)
    times.after(from).filter(time => stop.forall(!time.isAfter(_)))

object Schedule:
  private given Configuration = Configuration.default.withDefaults
  private given Encoder[Instant] = Encoder[Long].contramap(_.toEpochMilli)
  private given Decoder[Instant] = Decoder[Long].map(Instant.ofEpochMilli)
  private given Encoder[Duration] = Encoder[Long].contramap(_.toMillis)
  private given Decoder[Duration] = Decoder[Long].map(Duration.ofMillis)
  private given Encoder[ZoneId] = Encoder[String].contramap(_.getId)
  private given Decoder[ZoneId] = Decoder[String].emapTry(id => Try(ZoneId.of(id)))
  private given Encoder[CronExpression] = Encoder[String].contramap(_.text)
  private given Decoder[CronExpression] = Decoder[String].emap(CronExpression.parse(_).left.map(_.message))
  private given ConfiguredCodec[AfterOnce] = ConfiguredCodec.derived
  private given ConfiguredCodec[Times] = ConfiguredCodec.derived
  given ConfiguredCodec[Schedule] = ConfiguredCodec.derived

/** What is deleted once an alarm has fired. */
enum AfterOnce:
  case Keep, DeleteTrigger, DeleteRules

enum Times:
  case Cron(expression: CronExpression, zone: ZoneId)

  /** At this interval, beginning with `first`. */
  case Every(interval: Duration, first: Instant)
  case Once(at: Instant, afterwards: AfterOnce)

  def after(moment: Instant): Option[Instant] = this match
    case Cron(expression, zone) => expression.after(moment, zone)
    case Once(at, _) => Option.when(at.isAfter(moment))(at)
    case Every(_, first) if first.isAfter(moment) => Some(first)
    case Every(interval, first) =>
      val passed = Duration.between(first, moment).toMillis / interval.toMillis
      Some(first.plusMillis((passed + 1) * interval.toMillis))
