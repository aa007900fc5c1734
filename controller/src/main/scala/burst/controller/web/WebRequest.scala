package burst.controller.web

import io.circe.{Json, JsonObject}
import java.util.Locale

/** A request as a web action receives it.
  *
  * @param headers
  *   the headers, in the order they came
  * @param path
  *   what follows the action
  * @param query
  *   the query as it came
  * @param user
  *   the namespace whose credentials it has
  * @param more
  *   arguments that override everything sent, such as parts of a path
  */
final case class WebRequest(
    method: String,
    headers: Vector[(String, String)],
    path: String,
    query: String,
    user: Option[String],
    more: Vector[(String, String)] = Vector.empty
)

object WebRequest:
  /** The prefix of the platform's own arguments. */
  private val Own = "__ow_"

  /** Returns the arguments that the action is called with. */
  def arguments(request: WebRequest, body: WebBody, rules: WebRules): Either[WebProblem, JsonObject] =
    if rules.raw then Right(merged(request.own, boxed(request, body)))
    else
      for
        query <- WebQuery.parse(request.query)
        all = merged(merged(texts(query), body), texts(request.more))
        _ <- all.keys.find(isTaken(_, rules)).map(WebProblem.ParameterNotAllowed(_)).toLeft(())
      yield merged(all, merged(request.own, whole(body)))

  private def texts(all: Vector[(String, String)]): JsonObject =
    JsonObject.fromIterable(all.map((name, value) => name -> Json.fromString(value)))

  private def isTaken(name: String, rules: WebRules): Boolean = isOwn(name) || rules.finals(name)

  /** Whether a name is reserved, in upper or lower case: some programs read arguments from the environment,
    * where all names are upper case.
    */
  def isOwn(name: String): Boolean = name.toLowerCase(Locale.ROOT).startsWith(Own)

  private def boxed(request: WebRequest, body: WebBody): JsonObject =
    val text = body match
      case WebBody.Whole(value) => value
      case _ => Json.fromString("")
    JsonObject(s"${Own}query" -> Json.fromString(request.query), s"${Own}body" -> text)

  private def whole(body: WebBody): JsonObject = body match
    case WebBody.Whole(value) => JsonObject(s"${Own}body" -> value)
    case _ => JsonObject.empty

  private def merged(fields: JsonObject, body: WebBody): JsonObject = body match
    case WebBody.Merged(more) => merged(fields, more)
    case _ => fields

  private def merged(under: JsonObject, over: JsonObject): JsonObject =
    JsonObject.fromIterable(under.toIterable ++ over.toIterable)

  extension (request: WebRequest)
    private def own: JsonObject = JsonObject.fromIterable(
      Vector(
        s"${Own}method" -> Json.fromString(request.method.toLowerCase(Locale.ROOT)),
        s"${Own}headers" -> Json.fromJsonObject(headers(request.headers)),
        s"${Own}path" -> Json.fromString(request.path)
      ) ++ request.user.map(name => s"${Own}user" -> Json.fromString(name))
    )

  /** Returns the headers by lower-case name; repeated ones are joined, as HTTP defines. */
  private def headers(all: Vector[(String, String)]): JsonObject =
    val named = all.map((name, value) => name.toLowerCase(Locale.ROOT) -> value)
    JsonObject.fromIterable(named.map(_(0)).distinct.map: name =>
      val between = if name == "cookie" then "; " else ", "
      name -> Json.fromString(named.collect { case (`name`, value) => value }.mkString(between)))
