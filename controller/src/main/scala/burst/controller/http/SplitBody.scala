package burst.controller.http

import burst.controller.definition.Definition
import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import io.circe.{jawn, Json, JsonObject}
import org.apache.pekko.util.ByteString

/** The body of a request of which one field may be megabytes and concerns nobody here: that one as it came,
  * and all others.
  */
final case class SplitBody(fields: JsonObject, large: Option[JsonText])

object SplitBody:
  /** Bytes of all fields but the large one, and in an object around that. */
  private val MostFields = 64 * 1024

  /** A deploy's variables have a limit of their own, which is told once they are read: here there is room for
    * each byte of them escaped, and for secrets that go.
    */
  private val Variables = Set("environment", "secrets")
  private val MostVariables = 6 * Definition.MostVariableBytes + MostFields

  /** Nobody has more names for options. */
  private val MostNames = 1000

  /** A flare's inputs are large. */
  def ofFlare(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    split(body, pieces, "params")

  /** A deploy's package is, within `exec`. */
  def ofDeploy(body: ByteString, pieces: JsonPieces): Either[ApiError, SplitBody] =
    split(body, pieces, "exec", apart = Variables).flatMap: outer =>
      outer.large match
        case Some(exec) if JsonPieces.first(exec) == '{' =>
          split(exec.bytes, pieces, "code").map: inner =>
            SplitBody(outer.fields.add("exec", Json.fromJsonObject(inner.fields)), inner.large)
        case Some(_) => Left(ApiError.WrongType("exec", "an object"))
        case None => Right(outer)

  private def split(
      body: ByteString,
      pieces: JsonPieces,
      name: String,
      apart: Set[String] = Set.empty
  ): Either[ApiError, SplitBody] =
    val tooLarge = ApiError.FieldsTooLarge(name, MostFields)
    pieces.members(body, MostNames).left.map(refusal(_, tooLarge)).flatMap: members =>
      val (large, others) = members.partition(_._1 == name)
      val (own, counted) = others.partition((name, _) => apart(name))
      if size(counted) > MostFields then Left(tooLarge)
      else if size(own) > MostVariables then Left(ApiError.VariablesTooLarge(MostVariables))
      else
        val parsed = others.map: (name, text) =>
          jawn.parseByteBuffer(text.bytes.asByteBuffer).map(name -> _).left.map(_ => ApiError.MalformedJson)
        parsed.collectFirst { case Left(error) => error }.toLeft:
          SplitBody(
            JsonObject.fromIterable(parsed.flatMap(_.toOption)),
            large.lastOption.map(_._2).filter(_ != JsonText.Null)
          )

  private def size(fields: Vector[(String, JsonText)]): Long =
    fields.iterator.map((name, value) => name.length.toLong + value.length).sum

  private def refusal(problem: Problem, tooLarge: ApiError): ApiError = problem match
    case Problem.Malformed => ApiError.MalformedJson
    case Problem.OtherType => ApiError.WrongType("", "a JSON object")
    case Problem.Repeated => ApiError.JsonRefused(JsonProblem.RepeatedField)
    case Problem.TooMany => tooLarge
