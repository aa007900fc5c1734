package burst.controller.http

import burst.controller.action.{ActivationHead, ActivationRecord, ActivationStatus}
import burst.controller.flare.LogText
import burst.controller.json.JsonPieces
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import org.apache.pekko.util.ByteString

/** Records of invocations as OpenWhisk's clients expect them. */
object ActivationViews:
  def accepted(id: FlareId): Json = Json.obj("activationId" -> id.asJson)

  def inList(head: ActivationHead): Json =
    Json.fromFields(about(head) :+ ("statusCode" -> head.status.ordinal.asJson))

  /** Returns a whole record without its result and its log, as the text before, between and after them. */
  def around(head: ActivationHead, size: Option[Int]): (ByteString, ByteString, ByteString) =
    val about = members(ActivationViews.about(head) :+ ("subject" -> head.subject.asJson))
    val (before, after) = aroundResult(head, size)
    (ByteString(about + ""","response":""") ++ before, after ++ ByteString(""","logs":["""), ByteString("]}"))

  /** Returns a response without its result, as the text before and after it. */
  def aroundResult(head: ActivationHead, size: Option[Int]): (ByteString, ByteString) =
    val said = Vector(
      "status" -> head.status.text.asJson,
      "success" -> (head.status == ActivationStatus.Success).asJson
    ) ++ size.map("size" -> _.asJson)
    (ByteString(members(said) + ""","result":"""), ByteString("}"))

  /** Returns a whole record with the log lines that are stored in it. */
  def whole(record: ActivationRecord): ByteString =
    val (before, between, after) = around(record.head, Some(record.result.length))
    before ++ record.result.bytes ++ between ++
      ByteString(record.logs.map(_.asJson.noSpaces).mkString(",")) ++ after

  /** Formats a line of a log. Clients recognise the prefix by its format and strip it. */
  def line(text: LogText, line: String): String =
    String.format("%-30s %s: %s", time(text.at), text.stream.asJson.asString.getOrElse(""), line)

  def truncated(limit: Long, at: Timestamp): String = String.format(
    "%-30s stderr: %s",
    time(at),
    s"Logs were truncated because the total bytes size exceeds the limit of $limit bytes."
  )

  private def time(at: Timestamp): String =
    at.instant.toString match
      case whole if whole.contains('.') => whole
      case seconds => s"${seconds.stripSuffix("Z")}.000Z"

  private def about(head: ActivationHead): Vector[(String, Json)] =
    Vector(
      "namespace" -> head.namespace.asJson,
      "name" -> head.name.asJson,
      "version" -> head.version.asJson,
      "publish" -> false.asJson,
      "annotations" -> pairs(head.annotations),
      "activationId" -> head.id.asJson,
      "start" -> head.start.millis.asJson
    ) ++ head.end.map("end" -> _.millis.asJson) ++ head.duration.map("duration" -> _.toMillis.asJson)
      ++ head.cause.map("cause" -> _.asJson)

  private def pairs(annotations: JsonObject): Json =
    Json.fromValues(annotations.toIterable.map((key, value) =>
      Json.obj("key" -> key.asJson, "value" -> value)
    ))

  /** Returns the text of an object without its closing brace. */
  private def members(fields: Vector[(String, Json)]): String = Json.fromFields(fields).noSpaces.dropRight(1)

  /** Whether a result is an array. */
  def isArray(result: JsonText): Boolean = JsonPieces.first(result) == '['
