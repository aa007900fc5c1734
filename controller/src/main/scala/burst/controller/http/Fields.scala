package burst.controller.http

import burst.controller.definition.Version
import io.circe.{Json, JsonObject}
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** Reads the fields of a JSON object that a caller sent; errors name the field's path. An absent field and
  * `null` are the same.
  */
final class Fields private (values: JsonObject, path: String):
  import ApiError.*

  def only(allowed: String*): Either[ApiError, Unit] =
    values.keys.find(!allowed.contains(_)) match
      case Some(unknown) => Left(UnknownField(at(unknown), allowed))
      case None => Right(())

  def json(name: String): Option[Json] = values(name).filterNot(_.isNull)

  def string(name: String): Either[ApiError, Option[String]] = read(name, "a string")(_.asString)

  def boolean(name: String): Either[ApiError, Option[Boolean]] = read(name, "true or false")(_.asBoolean)

  /** Reads the version of a definition. */
  def version(name: String): Either[ApiError, Option[String]] =
    string(name).flatMap:
      case Some(text) if Version.revision(text).isEmpty => Left(WrongType(at(name), Fields.AVersion))
      case version => Right(version)

  def requiredString(name: String): Either[ApiError, String] = required(name, string(name))

  def objectAt(name: String): Either[ApiError, Option[JsonObject]] = read(name, "an object")(_.asObject)

  def fields(name: String): Either[ApiError, Fields] =
    objectAt(name).map(inner => Fields(inner.getOrElse(JsonObject.empty), at(name) + "."))

  def requiredFields(name: String): Either[ApiError, Fields] =
    required(name, objectAt(name)).map(Fields(_, at(name) + "."))

  def long(
      name: String,
      least: Long,
      most: Long,
      measure: Measure = Measure.Count
  ): Either[ApiError, Option[Long]] =
    json(name) match
      case None => Right(None)
      case Some(value) if !value.isNumber => Left(WrongType(at(name), "a whole number"))
      case Some(value) =>
        value.asNumber.flatMap(_.toLong).filter(n => n >= least && n <= most) match
          case None => Left(OutOfRange(at(name), least, most, measure))
          case found => Right(found)

  def int(
      name: String,
      least: Int,
      most: Int,
      measure: Measure = Measure.Count
  ): Either[ApiError, Option[Int]] =
    long(name, least, most, measure).map(_.map(_.toInt))

  /** Reads a duration in milliseconds. */
  def millis(name: String, most: FiniteDuration): Either[ApiError, Option[FiniteDuration]] =
    long(name, 1, most.toMillis, Measure.Milliseconds).map(_.map(_.millis))

  def choice[A](name: String, choices: Seq[(String, A)]): Either[ApiError, Option[A]] =
    string(name).flatMap:
      case None => Right(None)
      case Some(text) =>
        choices.collectFirst { case (`text`, value) => value } match
          case None => Left(NoSuchChoice(at(name), choices.map(_(0))))
          case found => Right(found)

  private def required[A](name: String, value: Either[ApiError, Option[A]]): Either[ApiError, A] =
    value.flatMap(_.toRight(MissingField(at(name))))

  private def read[A](name: String, expected: String)(as: Json => Option[A]): Either[ApiError, Option[A]] =
    json(name) match
      case None => Right(None)
      case Some(value) => as(value).toRight(WrongType(at(name), expected)).map(Some(_))

  private def at(name: String): String = path + Fields.shortened(name)

object Fields:
  /** Shortens a name that the caller chose, so that an answer stays a sentence. */
  def shortened(name: String): String = if name.lengthIs > 64 then name.take(64) + "…" else name

  private val AVersion = "a version such as 0.0.3"

  def of(body: Json): Either[ApiError, Fields] =
    body.asObject.toRight(ApiError.WrongType("", "a JSON object")).map(of)

  def of(fields: JsonObject): Fields = Fields(fields, "")
