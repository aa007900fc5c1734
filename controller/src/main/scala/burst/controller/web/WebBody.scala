package burst.controller.web

import io.circe.{Json, JsonObject}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import org.apache.pekko.http.scaladsl.model.{ContentType, MediaType, MediaTypes}
import org.apache.pekko.util.ByteString
import scala.util.Try

/** How a request's body becomes arguments. */
enum BodyForm:
  case Absent, Json, Fields, Text, Binary

object BodyForm:
  /** Returns the form of a body. A raw action receives JSON as OpenWhisk passes it: in base64, like binary
    * content.
    */
  def of(contentType: ContentType, isEmpty: Boolean, raw: Boolean): BodyForm =
    val media = contentType.mediaType
    if isEmpty then Absent
    else if isJson(media) then if raw then Binary else Json
    else if !raw && isForm(media) then Fields
    else if contentType.binary then Binary
    else Text

  def isJson(media: MediaType): Boolean =
    (media.mainType == "application" && media.subType == "json") || media.subType.endsWith("+json")

  private def isForm(media: MediaType): Boolean =
    val form = MediaTypes.`application/x-www-form-urlencoded`
    media.mainType == form.mainType && media.subType == form.subType

/** A body as arguments of an action. */
enum WebBody:
  case Absent

  /** Merged with the query's arguments. */
  case Merged(fields: JsonObject)

  /** An argument of its own. */
  case Whole(value: Json)

object WebBody:
  /** The most fields of a form. */
  val MostFields = 1000

  def ofJson(json: Json): WebBody = json.asObject.fold(Whole(json))(Merged(_))

  def ofBinary(bytes: ByteString): WebBody =
    Whole(Json.fromString(Base64.getEncoder.encodeToString(bytes.toArrayUnsafe())))

  /** Decodes text in its declared charset, if that is known, else in UTF-8. */
  def ofText(contentType: ContentType, bytes: ByteString): WebBody =
    val charset = contentType.charsetOption.flatMap(it => Try(it.nioCharset).toOption).getOrElse(UTF_8)
    Whole(Json.fromString(bytes.decodeString(charset)))

  /** Reads a form; if a name occurs several times, the last one counts. */
  def ofForm(bytes: ByteString): Either[WebProblem, WebBody] =
    WebQuery.parse(bytes.utf8String).left.map {
      case WebProblem.MalformedQuery => WebProblem.MalformedForm
      case other => other
    }.map(fields =>
      Merged(JsonObject.fromIterable(fields.map((name, value) => name -> Json.fromString(value))))
    )
