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
  /** An action that takes requests raw gets JSON as OpenWhisk hands it out: like what is binary. */
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

/** A body as arguments. */
enum WebBody:
  case Absent

  /** Stands beside the query's. */
  case Merged(fields: JsonObject)

  /** Stands by itself. */
  case Whole(value: Json)

object WebBody:
  /** The most fields of a form. */
  val MostFields = 1000

  def ofJson(json: Json): WebBody = json.asObject.fold(Whole(json))(Merged(_))

  def ofBinary(bytes: ByteString): WebBody =
    Whole(Json.fromString(Base64.getEncoder.encodeToString(bytes.toArrayUnsafe())))

  /** In the charset it says it is in, if that is one. */
  def ofText(contentType: ContentType, bytes: ByteString): WebBody =
    val charset = contentType.charsetOption.flatMap(it => Try(it.nioCharset).toOption).getOrElse(UTF_8)
    Whole(Json.fromString(bytes.decodeString(charset)))

  /** Of a name that stands there twice the last. */
  def ofForm(bytes: ByteString): Either[WebProblem, WebBody] =
    WebQuery.parse(bytes.utf8String).left.map {
      case WebProblem.MalformedQuery => WebProblem.MalformedForm
      case other => other
    }.map(fields =>
      Merged(JsonObject.fromIterable(fields.map((name, value) => name -> Json.fromString(value))))
    )
