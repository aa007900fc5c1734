package burst.controller.http

import io.circe.{jawn, Json}
import org.apache.pekko.http.scaladsl.model.headers.Expect
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest, MediaTypes}
import org.apache.pekko.stream.Materializer
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}

/** Takes in a JSON body, within its limits. */
final class RequestBody(timeout: FiniteDuration, depthLimit: Int)(using Materializer):

  /** The body's bytes: refused by its declared length before anything is read, or as soon as more has been
    * counted than is allowed; never more than `limit` is held.
    */
  def read(
      request: HttpRequest,
      limit: Long,
      share: BodyBudget.Share = BodyBudget.Free
  ): Future[Either[ApiError, ByteString]] =
    val entity = request.entity
    if entity.contentLengthOption.exists(_ > limit) then refused(ApiError.BodyTooLarge(limit))
    else if !isJson(entity) then refused(ApiError.NotJson)
    else
      entity match
        case HttpEntity.Strict(_, bytes) =>
          Future.successful(Either.cond(share.take(bytes.length), bytes, ApiError.Busy))
        case streamed => streamed.withoutSizeLimit.dataBytes.runWith(BodySink(limit, timeout, share))

  /** A body whose JSON may be read: it may be megabytes: not for threads that serve requests. */
  def checked(bytes: ByteString): Either[ApiError, ByteString] =
    if JsonDepth.exceeds(bytes, depthLimit) then Left(ApiError.JsonTooDeep(depthLimit)) else Right(bytes)

  def parse(bytes: ByteString): Either[ApiError, Json] =
    checked(bytes).flatMap: bytes =>
      jawn.parseByteBuffer(bytes.asByteBuffer).left.map(_ => ApiError.MalformedJson)

  private def refused(error: ApiError): Future[Either[ApiError, ByteString]] =
    Future.successful(Left(error))

  // An empty body without a type is left to the parser, which has more to say.
  private def isJson(entity: HttpEntity): Boolean =
    val media = entity.contentType.mediaType
    (media.mainType == MediaTypes.`application/json`.mainType &&
      media.subType == MediaTypes.`application/json`.subType) ||
    (entity.isKnownEmpty && entity.contentType == ContentTypes.NoContentType)

object RequestBody:
  /** Lets the client of a refused request send its body into nowhere, so that it gets to see the answer (see
    * [[BodySink]]). A body that was read already, or that waits for `100 Continue`, is left alone.
    */
  def discard(request: HttpRequest, timeout: FiniteDuration)(using Materializer): Future[Unit] =
    if request.entity.isStrict || request.header[Expect].isDefined then Future.unit
    else
      request.entity.withoutSizeLimit.dataBytes
        .runWith(BodySink(0, timeout))
        .map(_ => ())(ExecutionContext.parasitic)
