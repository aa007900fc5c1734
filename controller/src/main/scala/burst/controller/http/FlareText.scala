package burst.controller.http

import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import io.circe.{jawn, Json, JsonObject}
import org.apache.pekko.util.ByteString

/** The body of a request that starts something: its inputs as they came, which may be megabytes and concern
  * nobody here, and all other fields.
  */
final case class FlareText(fields: Json, params: Option[JsonText])

object FlareText:
  /** Bytes of all fields but the inputs. */
  private val MostFields = 64 * 1024

  /** Nobody has more names for options. */
  private val MostNames = 1000

  def read(body: ByteString, pieces: JsonPieces): Either[ApiError, FlareText] =
    pieces.members(body, MostNames).left.map(refusal).flatMap: members =>
      val (params, others) = members.partition(_._1 == "params")
      if others.iterator.map(_._2.length).sum > MostFields then Left(ApiError.FieldsTooLarge(MostFields))
      else
        val parsed = others.map: (name, text) =>
          jawn.parseByteBuffer(text.bytes.asByteBuffer).map(name -> _).left.map(_ => ApiError.MalformedJson)
        parsed.collectFirst { case Left(error) => error }.toLeft:
          val fields = Json.fromJsonObject(JsonObject.fromIterable(parsed.flatMap(_.toOption)))
          FlareText(fields, params.lastOption.map(_._2).filter(_ != JsonText.Null))

  private def refusal(problem: Problem): ApiError = problem match
    case Problem.Malformed => ApiError.MalformedJson
    case Problem.OtherType => ApiError.WrongType("", "a JSON object")
    case Problem.Repeated => ApiError.JsonRefused(JsonProblem.RepeatedField)
    case Problem.TooMany => ApiError.FieldsTooLarge(MostFields)
