package burst.controller.http

import io.circe.{Json, Printer}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCode, StatusCodes}
import org.apache.pekko.util.ByteString

/** circe's JSON as HTTP entities. The API sends JSON, whatever the client accepts. */
object JsonMarshalling:
  private val printer = Printer.noSpaces

  def entity(json: Json): HttpEntity.Strict =
    // The printer hands its buffer over and does not use it again: no copy is needed.
    HttpEntity.Strict(
      ContentTypes.`application/json`,
      ByteString.fromByteBuffer(printer.printToByteBuffer(json, UTF_8))
    )

  def response(status: StatusCode, json: Json): HttpResponse = HttpResponse(status, entity = entity(json))

  def ok(json: Json): Either[ApiError, HttpResponse] = Right(response(StatusCodes.OK, json))
