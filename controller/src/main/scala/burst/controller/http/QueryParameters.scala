package burst.controller.http

import burst.controller.definition.EntityName
import burst.protocol.Timestamp
import java.util.Locale
import org.apache.pekko.http.scaladsl.model.Uri
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.{extractRequest, mapInnerRoute, pass}

/** Query parameters; errors name the parameter that is wrong. */
final class QueryParameters(query: Uri.Query):
  /** Reads a flag in all spellings that OpenWhisk accepts: some of its clients send `True`. */
  def flag(name: String, default: Boolean = false): Either[ApiError, Boolean] =
    query.get(name).map(_.toLowerCase(Locale.ROOT)) match
      case None => Right(default)
      case Some("false" | "no" | "off" | "0") => Right(false)
      case Some("true" | "yes" | "on" | "1") => Right(true)
      case Some(_) => Left(ApiError.InvalidParameter(name, "true or false"))

  def int(name: String, default: Int, least: Int, most: Int): Either[ApiError, Int] = query.get(name) match
    case None => Right(default)
    case Some(text) =>
      // Only ASCII digits: Scala would also accept digits of other scripts, and signs.
      Option
        .when(text.forall(c => c >= '0' && c <= '9'))(text)
        .flatMap(_.toIntOption)
        .filter(n => n >= least && n <= most)
        .toRight(ApiError.InvalidParameter(name, s"a whole number from $least to $most"))

  def optionalInt(name: String): Either[ApiError, Option[Int]] =
    if query.get(name).isEmpty then Right(None)
    else int(name, default = 0, least = 0, most = Int.MaxValue).map(Some(_))

  /** Reads a time in milliseconds since the epoch. */
  def time(name: String): Either[ApiError, Option[Timestamp]] =
    long(name, QueryParameters.Latest, "a time in milliseconds since the epoch")
      .map(_.map(Timestamp.ofMillis))

  /** Reads a position in a log, as an earlier answer returned it. */
  def logPosition(name: String): Either[ApiError, Option[Long]] =
    long(name, Long.MaxValue, "what an answer has as `next`")

  private def long(name: String, most: Long, what: String): Either[ApiError, Option[Long]] =
    query.get(name) match
      case None => Right(None)
      case Some(text) =>
        Option
          .when(text.forall(c => c >= '0' && c <= '9'))(text)
          .flatMap(_.toLongOption)
          .filter(_ <= most)
          .toRight(ApiError.InvalidParameter(name, what))
          .map(Some(_))

  /** Reads `NAME` or `PACKAGE/NAME`. As with OpenWhisk, a leading slash is allowed, and an empty name counts
    * as none.
    */
  def actionName(parameter: String): Either[ApiError, Option[String]] =
    query.get(parameter).map(_.stripPrefix("/")).filter(_.nonEmpty) match
      case Some(text) if !EntityName.isPath(text) => Left(ApiError.InvalidName)
      case name => Right(name)

  /** Reads any text, as it was sent. */
  def text(name: String): Either[ApiError, Option[String]] = Right(query.get(name))

  def entityName(parameter: String): Either[ApiError, Option[String]] = query.get(parameter) match
    case Some(text) if !EntityName.isValid(text) => Left(ApiError.InvalidName)
    case name => Right(name)

  /** Reads `NAME` or `PACKAGE/NAME`. */
  def definitionName(parameter: String): Either[ApiError, Option[String]] = query.get(parameter) match
    case Some(text) if !EntityName.isPath(text) => Left(ApiError.InvalidName)
    case name => Right(name)

  def choice[A](name: String, choices: Map[String, A]): Either[ApiError, Option[A]] = query.get(name) match
    case None => Right(None)
    case Some(text) =>
      choices
        .get(text)
        .toRight(ApiError.InvalidParameter(name, s"one of: ${choices.keys.mkString(", ")}"))
        .map(Some(_))

  /** Reads `limit` and `skip`. A limit of 0 asks for as many as are allowed. */
  def page(): Either[ApiError, Page] =
    for
      limit <- int("limit", default = Page.Default, least = 0, most = Page.Most)
      skip <- int("skip", default = 0, least = 0, most = Int.MaxValue)
    yield Page(if limit == 0 then Page.Most else limit, skip)

object QueryParameters:
  /** Lets requests through whose query has no other parameters. OpenWhisk's calls tolerate others; ours do
    * not, so that mistyped names are noticed.
    */
  def only(names: String*): Directive0 = extractRequest.flatMap: request =>
    request.uri.query().find((name, _) => name.nonEmpty && !names.contains(name)) match
      case None => pass
      case Some((name, _)) =>
        val error = ApiError.UnknownParameter(Fields.shortened(name), names)
        mapInnerRoute(_ => Answer.refused(error))

  /** The latest time, in milliseconds, that still fits when counted in microseconds. */
  private val Latest: Long = Long.MaxValue / 2000

/** A part of a list. */
final case class Page(limit: Int, skip: Int)

object Page:
  val Default = 30
  val Most = 200
