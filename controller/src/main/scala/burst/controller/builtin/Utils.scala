package burst.controller.builtin

import burst.controller.action.{BuiltIn, Invocation, RunResult}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import java.time.Instant
import java.time.temporal.ChronoUnit
import scala.concurrent.Future

/** `/whisk.system/utils`: small actions from which others are composed. */
object Utils:
  /** The actions by name.
    *
    * @param apiHost
    *   where clients reach the platform, such as `https://burst.example.org`
    */
  def all(apiHost: => String, now: () => Instant = () => Instant.now()): Map[String, BuiltIn] = Map(
    "echo" -> of(invocation => invocation.arguments),
    "date" -> of(_ => Json.obj("date" -> now().truncatedTo(ChronoUnit.MILLIS).toString.asJson)),
    "namespace" -> of(invocation => Json.obj("namespace" -> invocation.caller.namespace.asJson)),
    "cat" -> withLines: (lines, _) =>
      Json.obj("lines" -> lines.asJson, "payload" -> lines.map(text).mkString("\n").asJson),
    "sort" -> withLines: (lines, _) =>
      val sorted = lines.sortBy(text)
      Json.obj("lines" -> sorted.asJson, "length" -> sorted.length.asJson)
    ,
    "head" -> withLines: (lines, arguments) =>
      arguments("num").filter(truthy).fold(Some(1))(_.asNumber.flatMap(_.toInt)) match
        // Counted from the end, like JavaScript's slice.
        case Some(num) if num < 0 =>
          Json.obj("lines" -> lines.dropRight(-num).asJson, "num" -> num.asJson)
        case Some(num) => Json.obj("lines" -> lines.take(num).asJson, "num" -> num.asJson)
        case None => failed("num must be a whole number.")
    ,
    "split" -> withFields(split),
    "smash" -> withFields: arguments =>
      arguments("$fieldName").flatMap(_.asString) match
        case Some(parent) => Json.obj(parent -> arguments.remove("$fieldName").asJson)
        case None => failed("Expected an argument '$fieldName' of type 'string'.")
    ,
    "hosturl" -> of: invocation =>
      invocation.arguments.asObject.fold(notAnObject)(HostUrl(apiHost, invocation.caller.namespace, _))
  )

  private def of(result: Invocation => Json): BuiltIn = invocation => Future.successful(result(invocation))

  private def withFields(result: JsonObject => Json): BuiltIn =
    of(invocation => invocation.arguments.asObject.fold(notAnObject)(result))

  private def withLines(result: (Vector[Json], JsonObject) => Json): BuiltIn = withFields: arguments =>
    arguments("lines").filter(truthy).fold(Some(Vector.empty))(_.asArray) match
      case Some(lines) => result(lines, arguments)
      case None => failed("lines must be an array.")

  /** Splits a text at the separator, taken literally, or at the ends of lines. */
  private def split(arguments: JsonObject): Json =
    arguments("payload").filterNot(_.isNull) match
      case None => failed("payload is missing; give the string to split.")
      case Some(payload) =>
        val separator = arguments("separator").flatMap(_.asString).filter(_.nonEmpty)
        val whole = text(payload)
        val lines = whole.split(separator.fold("\r?\n")(quoted), MostLines)
        Json.obj("lines" -> lines.toVector.asJson, "payload" -> payload)

  /** The most lines; the last one contains everything left. Each takes at least three bytes of a result, so
    * that a result with this many is refused as too large, whatever they contain.
    */
  private[builtin] val MostLines: Int = RunResult.MostBytes / 3 + 1

  private def quoted(literal: String): String = java.util.regex.Pattern.quote(literal)

  /** Converts a value to text as JavaScript does. */
  private def text(json: Json): String =
    json.asString.orElse(Option.when(json.isNull)("")).getOrElse(json.noSpaces)

  /** Whether JavaScript considers a value true. */
  private def truthy(json: Json): Boolean =
    !json.isNull && json != Json.False && !json.asString.contains("") && !json.asNumber.exists(
      _.toDouble == 0
    )

  private[builtin] def failed(sentence: String): Json = Json.obj("error" -> sentence.asJson)
  private val notAnObject = failed("The input must be an object.")

/** The URL at which an action or a trigger of a namespace is called. */
private object HostUrl:
  private val extensions = Seq(".json", ".text", ".html", ".http")

  def apply(host: String, namespace: String, arguments: JsonObject): Json =
    val isWeb = arguments("web").contains(Json.True)
    val isTrigger = arguments("trigger").contains(Json.True)
    val path = arguments("path").flatMap(_.asString).filter(_.nonEmpty)
    val extension = arguments("ext").flatMap(_.asString).filter(_.nonEmpty)
    val collection = if isTrigger then "triggers" else "actions"
    if isWeb && isTrigger then Utils.failed("triggers are not allowed for web actions.")
    else if isWeb && extension.exists(!extensions.contains(_)) then
      Utils.failed(s"extension for web action must be one of ${extensions.asJson.noSpaces}.")
    else if isTrigger && path.exists(_.contains('/')) then
      Utils.failed("triggers are not allowed in packages.")
    else
      val base =
        if isWeb then s"$host/api/v1/web/$namespace" else s"$host/api/v1/namespaces/$namespace/$collection"
      val suffix = path.map: path =>
        if isWeb then
          val qualified = if path.contains('/') then path else s"default/$path"
          s"/$qualified${extension.getOrElse(".json")}"
        else s"/$path"
      Json.obj("url" -> s"$base${suffix.getOrElse("")}".asJson)
