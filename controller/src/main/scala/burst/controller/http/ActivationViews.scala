package burst.controller.http

import burst.controller.action.{ActivationHead, ActivationRecord, ActivationStatus}
import burst.controller.flare.LogText
import burst.controller.json.JsonPieces
import burst.protocol.{FlareId, JsonText}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import java.time.Instant
import java.time.temporal.ChronoUnit
import org.apache.pekko.util.ByteString

/** Records of invocations as OpenWhisk's clients know them. */
object ActivationViews:
  def accepted(id: FlareId): Json = Json.obj("activationId" -> id.asJson)

  def inList(head: ActivationHead): Json =
    Json.fromFields(about(head) :+ ("statusCode" -> head.status.ordinal.asJson))

  /** A whole record in two parts, between which its logs stand. */
  def around(record: ActivationRecord): (ByteString, ByteString) =
    val before = ByteString(members(about(record.head) :+ ("subject" -> record.head.subject.asJson)))
    (before ++ ByteString(""","response":""") ++ response(record) ++ ByteString(""","logs":["""), End)

  /** With the logs that it has itself. */
  def whole(record: ActivationRecord): ByteString =
    val (before, after) = around(record)
    before ++ ByteString(record.logs.map(_.asJson.noSpaces).mkString(",")) ++ after

  def result(record: ActivationRecord): ByteString = response(record)

  def logs(lines: Vector[String]): Json = Json.obj("logs" -> lines.asJson)

  /** A line of a log. Clients cut off what is before the text by its form. */
  def line(text: LogText, line: String): String =
    String.format("%-30s %s: %s", time(text.at), text.stream.asJson.asString.getOrElse(""), line)

  def truncated(limit: Long, at: Long): String = String.format(
    "%-30s stderr: %s",
    time(at),
    s"Logs were truncated because the total bytes size exceeds the limit of $limit bytes."
  )

  private def time(micros: Long): String =
    Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString match
      case whole if whole.contains('.') => whole
      case seconds => s"${seconds.stripSuffix("Z")}.000Z"

  private val End = ByteString("]}")

  private def about(head: ActivationHead): Vector[(String, Json)] =
    Vector(
      "namespace" -> head.namespace.asJson,
      "name" -> head.name.asJson,
      "version" -> head.version.asJson,
      "publish" -> false.asJson,
      "annotations" -> pairs(head.annotations),
      "activationId" -> head.id.asJson,
      "start" -> head.start.asJson
    ) ++ head.end.map("end" -> _.asJson) ++ head.duration.map("duration" -> _.asJson)
      ++ head.cause.map("cause" -> _.asJson)

  private def pairs(annotations: JsonObject): Json =
    Json.fromValues(annotations.toIterable.map((key, value) =>
      Json.obj("key" -> key.asJson, "value" -> value)
    ))

  private def response(record: ActivationRecord): ByteString =
    val status = record.status
    val said = Vector(
      "status" -> status.text.asJson,
      "success" -> (status == ActivationStatus.Success).asJson,
      "size" -> record.result.length.asJson
    )
    ByteString(members(said)) ++ ByteString(""","result":""") ++ record.result.bytes ++ ByteString("}")

  /** An object that is not at its end. */
  private def members(fields: Vector[(String, Json)]): String = Json.fromFields(fields).noSpaces.dropRight(1)

  /** Whether a result is an array. */
  def isArray(result: JsonText): Boolean = JsonPieces.first(result) == '['
