package burst.controller.http

import io.circe.Json
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.util.ByteString
import org.snakeyaml.engine.v2.api.{Load, LoadSettings}
import scala.jdk.CollectionConverters.*

/** The API's description: the original YAML, and JSON for clients that expect OpenWhisk's `api-docs`. */
private[http] object ApiDescriptionAnswer:
  private val Yaml = ContentType.parse("application/yaml").getOrElse(ContentTypes.`text/plain(UTF-8)`)

  lazy val text: ByteString =
    val in = getClass.getResourceAsStream("/openapi.yaml")
    try ByteString.fromArrayUnsafe(in.readAllBytes())
    finally in.close()

  lazy val asYaml: HttpResponse = HttpResponse(entity = HttpEntity.Strict(Yaml, text))

  lazy val asJson: HttpResponse =
    val settings = LoadSettings.builder().setMaxAliasesForCollections(MostAliases).build()
    JsonMarshalling.response(StatusCodes.OK, json(Load(settings).loadFromString(text.utf8String)))

  /** Enough for our own description, the only document that is read here. */
  private val MostAliases = 1000

  /** Converts a YAML value to JSON; keys that are not strings become text. */
  private def json(value: Any): Json = value match
    case fields: java.util.Map[?, ?] =>
      Json.fromFields(fields.asScala.map((name, field) => name.toString -> json(field)))
    case elements: java.util.List[?] => Json.fromValues(elements.asScala.map(json))
    case flag: java.lang.Boolean => Json.fromBoolean(flag)
    case whole: java.lang.Integer => Json.fromInt(whole)
    case whole: java.lang.Long => Json.fromLong(whole)
    case number: java.lang.Double => Json.fromDoubleOrString(number)
    case other => Option(other).fold(Json.Null)(text => Json.fromString(text.toString))
