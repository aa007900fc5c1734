package burst.controller.http

import burst.controller.definition.Definition
import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import io.circe.{jawn, Json, JsonObject}
import org.apache.pekko.util.ByteString

/** The body of a request in which one field may be megabytes and is not parsed here: that field as it came,
  * and all others.
  */
final case class SplitBody(fields: JsonObject, large: Option[JsonText])

object SplitBody:
  /** The most bytes of all fields but the large one, and of those in an object around that. */
  private val MostFields = 64 * 1024

  /** A deploy's variables have a limit of their own, which is checked once they are parsed: this leaves room
    * for each of their bytes escaped, and for secrets that are to be removed.
    */
  private val Variables = Set("environment", "secrets")
  private val MostVariables = 6 * Definition.MostVariableBytes + MostFields

  /** More than the options have names. */
  private val MostNames = 1000

  /** Splits off a flare's inputs. */
  def ofFlare(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    split(body, pieces, "params")

  /** Splits off a burst's inputs, as the published prototype's programs send them. */
  def ofBurst(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    split(body, pieces, "value")

  /** Splits off a deploy's package, within `exec`. */
  def ofDeploy(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    def problem(own: Vector[(String, JsonText)]) =
      Option.when(size(own) > MostVariables)(ApiError.VariablesTooLarge(MostVariables))
    split(body, pieces, "exec", Variables, problem).flatMap(inExec(_, pieces))

  /** Splits off an action's program, within `exec`, which may be absent. */
  def ofAction(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    split(orEmpty(body), pieces, "exec", EntityFields.keySet, EntityFields.problem).flatMap(inExec(_, pieces))

  /** Reads one of OpenWhisk's entities that has no program. */
  def ofEntity(body: ByteString, pieces: JsonPieces): Either[ApiError, JsonObject] =
    split(orEmpty(body), pieces, "", EntityFields.keySet, EntityFields.problem).map(_.fields)

  /** Returns an empty object for a blank body, which clients with nothing to change send. */
  private def orEmpty(body: ByteString): ByteString =
    if body.forall(byte => " \t\r\n".indexOf(byte) >= 0) then ByteString("{}") else body

  private def inExec(outer: SplitBody, pieces: JsonPieces): Either[ApiError, SplitBody] = outer.large match
    case Some(exec) if JsonPieces.first(exec) == '{' =>
      split(exec.bytes, pieces, "code").map: inner =>
        SplitBody(outer.fields.add("exec", Json.fromJsonObject(inner.fields)), inner.large)
    case Some(_) => Left(ApiError.WrongType("exec", "an object"))
    case None => Right(outer)

  /** Splits off the field `name`; `apart` are fields with limits of their own. */
  private def split(
      body: ByteString,
      pieces: JsonPieces,
      name: String,
      apart: Set[String] = Set.empty,
      problem: Vector[(String, JsonText)] => Option[ApiError] = _ => None
  ): Either[ApiError, SplitBody] =
    val tooLarge = ApiError.FieldsTooLarge(name, MostFields)
    pieces.members(body, MostNames).left.map(refusal(_, tooLarge)).flatMap: members =>
      val (large, others) = members.partition(_._1 == name)
      val (own, counted) = others.partition((name, _) => apart(name))
      val wrong = Option.when(size(counted) > MostFields)(tooLarge).orElse(problem(own))
      if wrong.isDefined then wrong.toLeft(SplitBody(JsonObject.empty, None))
      else
        val parsed = others.map: (name, text) =>
          jawn.parseByteBuffer(text.bytes.asByteBuffer).map(name -> _).left.map(_ => ApiError.MalformedJson)
        parsed.collectFirst { case Left(error) => error }.toLeft:
          SplitBody(
            JsonObject.fromIterable(parsed.flatMap(_.toOption)),
            large.lastOption.map(_._2).filter(_ != JsonText.Null)
          )

  private[http] def size(fields: Vector[(String, JsonText)]): Long =
    fields.iterator.map((name, value) => name.length.toLong + value.length).sum

  private def refusal(problem: Problem, tooLarge: ApiError): ApiError = problem match
    case Problem.Malformed => ApiError.MalformedJson
    case Problem.OtherType => ApiError.WrongType("", "a JSON object")
    case Problem.Repeated => ApiError.JsonRefused(JsonProblem.RepeatedField)
    case Problem.TooMany => tooLarge
