package burst.controller.http

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, FlareStore, Identity}
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Success

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
        // What is refused was no flare; how often one may be refused is bounded with all other requests.
        start(request)(read).andThen:
          case Success(Right(_)) => ()
          case _ => rates.giveBack(caller.namespace, perMinute)

  private def start(request: HttpRequest)(
      read: Json => Either[ApiError, FlareRequest]
  ): Future[Either[ApiError, Flare]] =
    body
      .read(request, settings.flareBodyLimit)
      .flatMap:
        case Left(error) => Future.successful(Left(error))
        case Right(bytes) =>
          blocking(body.parse(bytes).flatMap(read)).flatMap:
            case Left(error) => Future.successful(Left(error))
            case Right(wanted) => service.submit(wanted).map(_.left.map(ApiError.Refused(_)))

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
