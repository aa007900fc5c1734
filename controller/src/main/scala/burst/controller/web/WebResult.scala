package burst.controller.web

import burst.controller.action.{Activation, ActivationStatus}
import io.circe.{Json, JsonObject}
import java.util.Base64
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.util.ByteString
import scala.util.Try

/** Converts an action's result to the response to the client. */
object WebResult:
  /** Returns the response to an activation. An error that a program returns is read like a result. */
  def of(activation: Activation, extension: WebExtension): Either[WebProblem, HttpResponse] =
    activation.status match
      case ActivationStatus.Success => response(extension, activation.result)
      case ActivationStatus.ApplicationError =>
        activation.result.asObject.flatMap(_("error")) match
          case Some(error) => response(extension, error)
          case None => Left(WebProblem.NoText)
      case ActivationStatus.DeveloperError | ActivationStatus.InternalError => Left(WebProblem.ActionFailed)

  def response(extension: WebExtension, result: Json): Either[WebProblem, HttpResponse] = extension match
    case WebExtension.Http => result.asObject.toRight(wrong(extension)).flatMap(http)
    case WebExtension.Json =>
      if result.isObject || result.isArray then Right(entity(extension, result.noSpaces))
      else Left(wrong(extension))
    case WebExtension.Html | WebExtension.Svg =>
      field(extension, result).flatMap(_.asString).toRight(wrong(extension)).map(entity(extension, _))
    case WebExtension.Text =>
      field(extension, result).toRight(WebProblem.NoText).map(it => entity(extension, text(it)))

  private def wrong(extension: WebExtension) = WebProblem.NotOfExtension(extension)

  private def field(extension: WebExtension, result: Json): Option[Json] = result.asObject match
    case Some(fields) => fields("body").orElse(fields(extension.suffix.drop(1)))
    case None => Some(result)

  /** Renders a value indented, as OpenWhisk does, unless it is both deep and wide: it would become hundreds
    * of times as long.
    */
  private def text(value: Json): String = value.asString.getOrElse:
    if indentation(value, 1) <= MostIndentation then value.spaces2 else value.noSpaces

  private val MostIndentation = 1024 * 1024

  /** How many characters indentation adds, approximately. */
  private def indentation(value: Json, depth: Int): Long =
    val inside = value.asArray.orElse(value.asObject.map(_.values)).getOrElse(Iterable.empty)
    inside.iterator.map(it => 2L * depth + 1 + indentation(it, depth + 1)).sum

  private def entity(extension: WebExtension, text: String): HttpResponse =
    HttpResponse(entity =
      HttpEntity.Strict(extension.contentType.getOrElse(ContentTypes.NoContentType), ByteString(text))
    )

  private def http(fields: JsonObject): Either[WebProblem, HttpResponse] =
    for
      code <- fields("statusCode").fold(Right(None))(status(_).map(Some(_)))
      headers <- fields("headers").fold(Right(Vector.empty))(WebHeaders.of)
      body <- fields("body").filterNot(it => it.isNull || it.asString.contains("")) match
        case Some(body) => content(body, WebHeaders.contentType(headers)).map(Some(_))
        case None => Right(None)
    yield
      val status = code.getOrElse(if body.isDefined then StatusCodes.OK else StatusCodes.NoContent)
      val sent = body.filter(_ => status.allowsEntity()).getOrElse(HttpEntity.Empty)
      HttpResponse(status, WebHeaders.allowed(headers), sent)

  /** Reads a final status: interim ones are the server's. */
  private def status(json: Json): Either[WebProblem, StatusCode] =
    json.asNumber
      .flatMap(_.toInt)
      .orElse(json.asString.filter(_.forall(c => c >= '0' && c <= '9')).flatMap(_.toIntOption))
      .filter(code => code >= 200 && code <= 599)
      .map(code => StatusCodes.getForKey(code).getOrElse(StatusCodes.custom(code, "Custom", "")))
      .toRight(WebProblem.BadStatus)

  private def content(body: Json, declared: Option[String]): Either[WebProblem, HttpEntity.Strict] =
    body.asString match
      case Some(text) => mediaType(declared, MediaTypes.`text/html`).flatMap(ofText(text, _))
      case None =>
        mediaType(declared, MediaTypes.`application/json`).flatMap: media =>
          if BodyForm.isJson(media) then Right(HttpEntity.Strict(utf8(media), ByteString(body.noSpaces)))
          else Left(WebProblem.NotOfContentType)

  private def mediaType(declared: Option[String], otherwise: MediaType): Either[WebProblem, MediaType] =
    declared.fold(Right(otherwise)): text =>
      MediaType.parse(text).left.map(_ => WebProblem.BadContentType)

  private def utf8(media: MediaType): ContentType = ContentType(media, () => HttpCharsets.`UTF-8`)

  private def ofText(text: String, media: MediaType): Either[WebProblem, HttpEntity.Strict] =
    val contentType = utf8(media)
    if BodyForm.isJson(media) then
      Right(HttpEntity.Strict(contentType, packed(text).getOrElse(ByteString(text))))
    else if contentType.binary then
      decoded(text).toRight(WebProblem.NotBase64).map(HttpEntity.Strict(contentType, _))
    else Right(HttpEntity.Strict(contentType, ByteString(text)))

  private def decoded(text: String): Option[ByteString] =
    Try(Base64.getDecoder.decode(text.trim)).toOption.map(ByteString.fromArrayUnsafe)

  /** Decodes JSON in base64, as older actions send it. An object or array never looks like base64. */
  private def packed(text: String): Option[ByteString] =
    decoded(text).filter(_.headOption.exists(byte => byte == '{' || byte == '['))
