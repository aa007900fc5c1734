package burst.controller.http

import io.circe.{jawn, Json}
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest, MediaTypes}
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.Sink
import org.apache.pekko.util.{ByteString, ByteStringBuilder}
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future, Promise, TimeoutException}

/** Takes in a JSON body, within its limits. */
final class RequestBody(timeout: FiniteDuration, depthLimit: Int)(using Materializer, ExecutionContext):

  /** The body's bytes: refused by its declared length before anything is read, or as soon as more has been
    * counted than is allowed; never more than `limit` is held.
    */
  def read(request: HttpRequest, limit: Long): Future[Either[ApiError, ByteString]] =
    val entity = request.entity
    if entity.contentLengthOption.exists(_ > limit) then refused(ApiError.BodyTooLarge(limit))
    else if !isJson(entity) then refused(ApiError.NotJson)
    else
      entity match
        case HttpEntity.Strict(_, bytes) => Future.successful(Right(bytes))
        case streamed => count(streamed, limit)

  /** Parses a body. It may be megabytes: not for threads that serve requests. */
  def parse(bytes: ByteString): Either[ApiError, Json] =
    if JsonDepth.exceeds(bytes, depthLimit) then Left(ApiError.JsonTooDeep(depthLimit))
    else jawn.parseByteBuffer(bytes.asByteBuffer).left.map(_ => ApiError.MalformedJson)

  private def refused(error: ApiError): Future[Either[ApiError, ByteString]] =
    Future.successful(Left(error))

  // An empty body without a type is left to the parser, which has more to say.
  private def isJson(entity: HttpEntity): Boolean =
    val media = entity.contentType.mediaType
    (media.mainType == MediaTypes.`application/json`.mainType &&
      media.subType == MediaTypes.`application/json`.subType) ||
    (entity.isKnownEmpty && entity.contentType == ContentTypes.NoContentType)

  private def count(entity: HttpEntity, limit: Long): Future[Either[ApiError, ByteString]] =
    val answer = Promise[Either[ApiError, ByteString]]()
    // Goes on reading after the limit, into nowhere, so that the client gets to see the answer.
    val whole = entity.withoutSizeLimit.dataBytes
      .completionTimeout(timeout)
      .runWith(Sink.fold(RequestBody.Counted(limit)): (counted, piece) =>
        if !counted.add(piece) then answer.trySuccess(Left(ApiError.BodyTooLarge(limit)))
        counted)
    whole.onComplete:
      case scala.util.Success(counted) => answer.trySuccess(Right(counted.result()))
      case scala.util.Failure(_: TimeoutException) => answer.trySuccess(Left(ApiError.BodyTooSlow))
      // The client broke off or broke the transfer encoding; whoever is left to read it learns that.
      case scala.util.Failure(_) =>
        answer.trySuccess(Left(ApiError.MalformedRequest("The body broke off; send it again.")))
    answer.future

object RequestBody:
  /** Pieces of a body as long as they stay within a limit; beyond it they are let go. */
  private final class Counted(limit: Long):
    private val pieces = ByteStringBuilder()
    private var size = 0L

    def add(piece: ByteString): Boolean =
      size += piece.length
      if size <= limit then pieces ++= piece else pieces.clear()
      size <= limit

    def result(): ByteString = pieces.result()
