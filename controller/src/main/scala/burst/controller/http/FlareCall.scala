package burst.controller.http

import burst.controller.json.JsonPieces
import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.scheduler.{FlareService, Refusal}
import burst.controller.http.BodyIntake.Growing
import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Success

/** A call that starts something: what is common to flares of a definition, flares on a group, and groups. */
final class FlareCall(
    service: FlareService,
    intake: BodyIntake,
    pieces: JsonPieces,
    rates: RateLimiter,
    results: ResultAnswer,
    settings: HttpSettings
)(using ExecutionContext):

  /** Starts the flare that `read` finds in the body, and waits for it when asked to. */
  def apply(caller: Identity, request: HttpRequest)(
      read: SplitBody => Either[ApiError, Growing[FlareRequest]]
  ): Answer =
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
  def submit(
      caller: Identity,
      request: HttpRequest,
      split: ByteString => Either[ApiError, SplitBody] = SplitBody.ofFlare(_, pieces)
  )(
      read: SplitBody => Either[ApiError, Growing[FlareRequest]]
  ): Future[Either[ApiError, Flare]] =
    val perMinute = caller.limits.flaresPerMinute
    rates.take(caller.namespace, perMinute) match
      case Left(pause) => Future.successful(Left(ApiError.RateLimited(perMinute, pause)))
      case Right(()) =>
        // Until the flare is stored: from then on large inputs are on the disk.
        val started = intake(caller.namespace, request)(begin(_, split, read, FlareCall.Tries))
        // What is refused was no flare; how often one may be refused is bounded with all other requests.
        started.andThen:
          case Success(Right(_)) => ()
          case _ => rates.giveBack(caller.namespace, perMinute)

  /** What was read of the definition may be no more by the time that the flare is stored: it is read again.
    */
  private def begin(
      body: BodyIntake#Taken,
      split: ByteString => Either[ApiError, SplitBody],
      read: SplitBody => Either[ApiError, Growing[FlareRequest]],
      tries: Int
  ): Future[Either[ApiError, Flare]] =
    val tried = body.growing(split(_).flatMap(read)): wanted =>
      service.submit(wanted).map(_.left.map(ApiError.Refused(_)))
    tried.flatMap:
      case Left(ApiError.Refused(Refusal.PackageGone)) if tries > 1 => begin(body, split, read, tries - 1)
      case answer => Future.successful(answer)

  private def ended(flare: Flare, resultOnly: Boolean): Answer =
    service
      .await(flare.id, settings.blockingLimit)
      .flatMap:
        case Some(end) if end.state.isFinal =>
          val status =
            if end.state == FlareState.Succeeded then StatusCodes.OK else StatusCodes.BadGateway
          if resultOnly then Future.successful(Right(results(status, end)))
          else Future.successful(Right(JsonMarshalling.response(status, Views.flare(end, estimate = None))))
        case _ => Future.successful(accepted(flare))

  private def accepted(flare: Flare): Either[ApiError, HttpResponse] =
    Right(JsonMarshalling.response(StatusCodes.Accepted, Views.accepted(flare.id)))

object FlareCall:
  private val Tries = 10
