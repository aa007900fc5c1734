package burst.controller.http

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.scheduler.{FlareService, Refusal}
import burst.controller.store.{Blocking, FlareStore, Identity}
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** A call that starts something: what is common to flares of a definition, flares on a group, and groups. */
final class FlareCall(
    flares: FlareStore,
    service: FlareService,
    body: RequestBody,
    rates: RateLimiter,
    blocking: Blocking,
    settings: HttpSettings
)(using ExecutionContext):

  /** Starts the flare that `read` finds in the body, and waits for it when asked to. */
  def apply(caller: Identity, request: HttpRequest)(read: Json => Either[ApiError, FlareRequest]): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        blockingCall <- query.flag("blocking")
        resultOnly <- query.flag("result")
      yield (blockingCall, resultOnly)
    Refusable(wanted): (blockingCall, resultOnly) =>
      Refusable(submit(caller, request)(read)): flare =>
        if blockingCall then ended(flare, resultOnly)
        else Future.successful(accepted(flare))

  /** As accepted. */
  def submit(caller: Identity, request: HttpRequest)(
      read: Json => Either[ApiError, FlareRequest]
  ): Future[Either[ApiError, Flare]] =
    val perMinute = caller.limits.flaresPerMinute
    rates.take(caller.namespace, perMinute) match
      case Left(pause) => Future.successful(Left(ApiError.RateLimited(perMinute, pause)))
      case Right(()) =>
        body
          .read(request, settings.flareBodyLimit)
          .flatMap:
            case Left(error) => Future.successful(Left(error))
            case Right(bytes) => begin(bytes, read, FlareCall.Tries)

  /** What was read of the definition may be no more by the time that the flare is stored: it is read again.
    */
  private def begin(
      bytes: ByteString,
      read: Json => Either[ApiError, FlareRequest],
      tries: Int
  ): Future[Either[ApiError, Flare]] =
    blocking(body.parse(bytes).flatMap(read)).flatMap:
      case Left(error) => Future.successful(Left(error))
      case Right(wanted) =>
        service.submit(wanted).flatMap:
          case Left(Refusal.PackageGone) if tries > 1 => begin(bytes, read, tries - 1)
          case answer => Future.successful(answer.left.map(ApiError.Refused(_)))

  private def ended(flare: Flare, resultOnly: Boolean): Answer =
    service
      .await(flare.id, settings.blockingLimit)
      .flatMap:
        case Some(end) if end.state.isFinal =>
          val status =
            if end.state == FlareState.Succeeded then StatusCodes.OK else StatusCodes.BadGateway
          if resultOnly then
            blocking(flares.results(end.id)).map: results =>
              Right(JsonMarshalling.response(status, Views.result(end, results)))
          else Future.successful(Right(JsonMarshalling.response(status, Views.flare(end, standing = None))))
        case _ => Future.successful(accepted(flare))

  private def accepted(flare: Flare): Either[ApiError, HttpResponse] =
    Right(JsonMarshalling.response(StatusCodes.Accepted, Views.accepted(flare.id)))

object FlareCall:
  private val Tries = 10
