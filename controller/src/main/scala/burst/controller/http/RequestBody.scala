package burst.controller.http

import io.circe.Json
import io.circe.jawn.JawnParser
import org.apache.pekko.http.scaladsl.model.headers.{`Content-Encoding`, Expect, HttpEncodings}
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpCharsets, HttpEntity, HttpRequest, MediaTypes}
import org.apache.pekko.stream.Materializer
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.Duration
import scala.concurrent.{ExecutionContext, Future}

/** Takes in a body, usually JSON, within its limits. */
final class RequestBody(times: BodyTimes, limits: JsonLimits)(using Materializer):

  /** Reads the bytes of a body that is declared as JSON. */
  def read(
      request: HttpRequest,
      limit: Long,
      share: BodyBudget.Share = BodyBudget.Free
  ): Future[Either[ApiError, ByteString]] =
    val entity = request.entity
    if !isTooLarge(entity, limit) && !isJson(entity) then refused(ApiError.NotJson)
    else bytes(request, limit, share)

  /** Reads the fields of a small JSON object. */
  def fields(request: HttpRequest): Future[Either[ApiError, Fields]] =
    read(request, RequestBody.Small).map(_.flatMap(parse).flatMap(Fields.of))(ExecutionContext.parasitic)

  /** Reads the body's bytes. Refuses it by its declared length before anything is read, or as soon as more
    * than the limit has arrived; never holds more than `limit`.
    */
  def bytes(
      request: HttpRequest,
      limit: Long,
      share: BodyBudget.Share
  ): Future[Either[ApiError, ByteString]] =
    val entity = request.entity
    if isTooLarge(entity, limit) then refused(ApiError.BodyTooLarge(limit))
    else if !isPlain(request) then refused(ApiError.EncodedBody)
    else
      // A body without a length is announced as it arrives.
      share.announce(entity.contentLengthOption.getOrElse(0)) match
        case None => refused(ApiError.Busy)
        case Some(pause) =>
          entity match
            case HttpEntity.Strict(_, bytes) if pause == Duration.Zero && share.take(bytes.length) =>
              Future.successful(Right(bytes))
            // A body that has arrived already waits like any other.
            case waiting =>
              val sink = BodySink(limit, times, share, pause, entity.contentLengthOption)
              waiting.withoutSizeLimit.dataBytes.runWith(sink)

  /** Returns a body whose JSON can be parsed, in one piece. It may be megabytes: not for threads that serve
    * requests.
    */
  def checked(
      bytes: ByteString,
      limits: JsonLimits = RequestBody.unbuilt(limits)
  ): Either[ApiError, ByteString] =
    val whole = bytes.compact
    JsonCheck.problem(whole, limits).map(ApiError.JsonRefused(_)).toLeft(whole)

  def parse(bytes: ByteString): Either[ApiError, Json] =
    checked(bytes, limits).flatMap: bytes =>
      RequestBody.parser
        .parseByteBuffer(bytes.asByteBuffer)
        .left
        .map(_.underlying match
          case _: NumberFormatException => ApiError.MalformedJson
          case _: IllegalArgumentException => ApiError.JsonRefused(JsonProblem.RepeatedField)
          case _ => ApiError.MalformedJson)

  private def refused(error: ApiError): Future[Either[ApiError, ByteString]] =
    Future.successful(Left(error))

  private def isTooLarge(entity: HttpEntity, limit: Long) = entity.contentLengthOption.exists(_ > limit)

  // An empty body without a type is left to the parser, whose error is more specific.
  private def isJson(entity: HttpEntity): Boolean =
    val media = entity.contentType.mediaType
    (media.mainType == MediaTypes.`application/json`.mainType &&
      media.subType == MediaTypes.`application/json`.subType &&
      entity.contentType.charsetOption.forall(_ == HttpCharsets.`UTF-8`)) ||
    (entity.isKnownEmpty && entity.contentType == ContentTypes.NoContentType)

  // A compressed body may unpack to any size.
  private def isPlain(request: HttpRequest): Boolean =
    request.header[`Content-Encoding`].forall(_.encodings.forall(_ == HttpEncodings.identity))

object RequestBody:
  private val Small = 16 * 1024L

  /** Returns the limits for JSON of which no values are built. */
  private def unbuilt(limits: JsonLimits): JsonLimits = limits.copy(values = Int.MaxValue)

  // If a field has two values, someone on the way may have checked the other one.
  private val parser = JawnParser(allowDuplicateKeys = false)

  /** Reads and drops the body of a refused request, so that its client gets to see the answer (see
    * [[BodySink]]). A body that was read already, or that waits for `100 Continue`, is left alone.
    */
  def discard(request: HttpRequest, times: BodyTimes)(using Materializer): Future[Unit] =
    if request.entity.isStrict || request.header[Expect].isDefined then Future.unit
    else
      request.entity.withoutSizeLimit.dataBytes
        .runWith(BodySink(0, times))
        .map(_ => ())(ExecutionContext.parasitic)
